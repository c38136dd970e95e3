import * as fc from 'fast-check'
import t from 'tap'
import { SentenceSplitter } from '../../src/speech/sentences.ts'

function split(text: string, { language, lengths = [4] }: { language?: string; lengths?: number[] } = {}) {
  const splitter = new SentenceSplitter(language)
  const early: { text: string; speech: string }[] = []
  for (let at = 0, index = 0; at < text.length; index++) {
    const length = lengths[index % lengths.length] ?? 1
    early.push(...splitter.push(text.slice(at, at + length)))
    at += length
  }
  return { early, all: [...early, ...splitter.flush()] }
}
const speechOf = (text: string, language?: string) =>
  split(text, { ...(language && { language }) }).all.map(({ speech }) => speech)

t.test('sentences', async (t) => {
  t.strictSame(speechOf('Hello Dr. Smith, it is 3.5 degrees. Really? Good. Bye now'), [
    'Hello Dr. Smith, it is 3.5 degrees.',
    'Really?',
    'Good.',
    'Bye now'
  ])
  t.strictSame(speechOf('Am 3. Mai, z.B. um 10 Uhr. Das war alles.', 'de'), [
    'Am 3. Mai, z.B. um 10 Uhr.',
    'Das war alles.'
  ])
  t.strictSame(speechOf('今天天气很好。我们去公园吧！谢谢你们', 'zh'), [
    '今天天气很好。',
    '我们去公园吧！',
    '谢谢你们'
  ])
  t.strictSame(speechOf('Wait... what? "Yes." she said.'), ['Wait... what?', '"Yes." she said.'])
  t.strictSame(speechOf('Is it https://a.example/x?b=c. Yes it is'), ['Is it a.example.', 'Yes it is'])
})

t.test('a sentence is there as soon as another one follows', async (t) => {
  const splitter = new SentenceSplitter()
  t.strictSame(splitter.push('This is the first.'), [])
  t.strictSame(splitter.push(' '), [])
  t.strictSame(splitter.push('T'), [{ text: 'This is the first. ', speech: 'This is the first.' }])
  t.strictSame(splitter.flush(), [{ text: 'T', speech: 'T' }])
  t.strictSame(splitter.flush(), [])
})

t.test('very short sentences wait for the next one', async (t) => {
  t.strictSame(speechOf('Ok. I see. This is it.'), ['Ok. I see.', 'This is it.'])
})

t.test('blocks of code and tables are not spoken, what is around them is', async (t) => {
  const text = 'Look here:\n\n```js\nlet a = 1. \nDone. Really.\n```\n\nThat was it. **So**.'
  const { all } = split(text)
  t.strictSame(
    all.map(({ speech }) => speech).filter((speech) => speech !== ''),
    ['Look here:', 'That was it.', 'So.']
  )
  t.strictSame(speechOf('Open:\n~~~\nno end').filter(Boolean), ['Open:'])
  t.match(speechOf('| City | Rain |\n|---|:-:|\n| Rome | 5 % |\n\nDone then').filter(Boolean), [
    'City, Rain',
    /Rome, 5 %/
  ])
})

t.test('Markdown has no sound', async (t) => {
  const cases = {
    '# Title': 'Title',
    '**bold**, *slanted*, __strong__ and ~~old~~ `code`': 'bold, slanted, strong and old code',
    'see [the docs](https://x.example/z) at https://www.x.example/a?b': 'see the docs at x.example',
    '- [x] a task': 'a task',
    '> a quote': 'a quote',
    '2 * 3 = 6, a_b and 5 < 6 > 4': '2 * 3 = 6, a_b and 5 < 6 > 4',
    '<b>tags</b> and 100 % 😀👩‍👧 ❤️': 'tags and 100 %',
    '1. first': '1. first',
    '---': '',
    '🎉': ''
  }
  for (const [text, speech] of Object.entries(cases)) t.equal(speechOf(text).join(' ').trim(), speech)
})

t.test('a long sentence is cut at a comma, or at a space, or anywhere', async (t) => {
  const most = 280
  const clauses = speechOf(`${'some words, '.repeat(30)}and an end.`)
  t.ok(clauses.length > 1)
  for (const each of clauses.slice(0, -1)) t.match(each, /words,$/)
  t.match(speechOf('word '.repeat(100))[0], /^(?:word )+word$/)
  const flags = speechOf('𝒳'.repeat(500))
  t.ok(flags.every((each) => each.isWellFormed() && each.length <= most))
})

t.test('nothing is lost, whatever the text and its pieces', async () => {
  const bits = fc.constantFrom(
    'Hello. ',
    'Dr. ',
    '3.5',
    '\n',
    '```',
    '```js\n',
    '。',
    ' ',
    '!',
    '| a |',
    '😀',
    '[x](',
    'é'
  )
  const texts = fc.array(fc.oneof(bits, fc.string({ unit: 'grapheme' })), { maxLength: 60 })
  fc.assert(
    fc.property(texts, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (parts, lengths) => {
      const text = parts.join('')
      const { early, all } = split(text, { lengths })
      const joined = all.map((each) => each.text).join('')
      return joined === text && all.every((each) => each.text !== '') && early.length <= all.length
    }),
    { numRuns: 300 }
  )
})

t.test('the sentences do not depend on the pieces', async () => {
  const bits = fc.constantFrom('Hello there. ', 'Dr. No ', '3.5 km. ', '\n', 'and, ', 'really? ', 'yes ')
  fc.assert(
    fc.property(fc.array(bits, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (parts, length) => {
      const text = parts.join('')
      const [one, other] = [split(text, { lengths: [1] }), split(text, { lengths: [length] })]
      t.strictSame(one.all, other.all)
    }),
    { numRuns: 60 }
  )
})
