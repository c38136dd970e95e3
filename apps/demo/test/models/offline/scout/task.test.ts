import t from 'tap'
import { queriesOf, readTask } from '../../../../src/models/offline/scout/task.ts'

t.test('a question has a kind, an aspect and words', (t) => {
  for (const [message, expected] of [
    ['How much is the rain jacket in size L?', { aspect: 'price', words: ['rain', 'jacket'], choice: 'L' }],
    [
      'What does white peony tea cost?',
      { aspect: 'price', words: ['white', 'peony', 'tea'], choice: undefined }
    ],
    ['Is the Sencha tea in stock?', { aspect: 'stock', words: ['Sencha', 'tea'] }],
    ['When are you open on Thursday?', { aspect: 'hours', words: ['Thursday'] }],
    ['What is your phone number?', { aspect: 'contact' }],
    ['Tell me about the wool blanket', { aspect: 'about', words: ['wool', 'blanket'] }],
    ['Which is the cheapest tea?', { kind: 'compare', most: 'cheapest', words: ['tea'] }],
    ['What is the most expensive tent?', { kind: 'compare', most: 'most expensive', words: ['tent'] }],
    ['What does it cost to order an enamel mug?', { kind: 'find', aspect: 'price' }]
  ] as const)
    t.match({ ...readTask(message) }, expected, message)
  t.end()
})

t.test('an order has a quantity, a choice, and details by label', (t) => {
  for (const [message, quantity, words] of [
    ['Order two enamel mugs', 2, ['enamel', 'mugs']],
    ['Please buy 3 two person tents.', 3, ['two', 'person', 'tents']],
    ['Buy a two person tent', 1, ['two', 'person', 'tent']],
    ['I would like to order oolong tea', 1, ['oolong', 'tea']]
  ] as const)
    t.match(readTask(message), { kind: 'order', quantity, words }, message)
  t.match(
    readTask(
      'Buy a jacket in size M. Name: Ada Lovelace; E-mail: a@b.example\nAddress: 1, Quay: left; Terms: yes.'
    ),
    {
      kind: 'order',
      choice: 'M',
      words: ['jacket'],
      details: [
        { label: 'Name', value: 'Ada Lovelace' },
        { label: 'E-mail', value: 'a@b.example' },
        { label: 'Address', value: '1, Quay: left' },
        { label: 'Terms', value: 'yes' }
      ]
    }
  )
  t.end()
})

t.test('searches begin with all words and end with single ones', (t) => {
  t.strictSame(queriesOf(readTask('What do wool socks cost?')), ['wool socks', 'wool sock', 'wool', 'sock'])
  t.strictSame(queriesOf(readTask('Glass teapot')), ['Glass teapot', 'teapot', 'Glass'])
  t.strictSame(queriesOf(readTask('What is the price?')), [])
  t.end()
})
