import t from 'tap'
import { around, readOutline, textOf } from '../../../../src/models/offline/scout/outline.ts'

t.test('elements have their role, name, states, link and text', (t) => {
  const [heading, link, box, option] = readOutline(
    [
      '- heading "Tea \\"and\\" more" [level=1] [ref=e1]:',
      '  - link "All" [url="/shop?q=\\"a\\"]"] [ref=f2e7]',
      '- combobox "Size" [ref=e3]:',
      '  - option "L" [selected]: large'
    ].join('\n')
  )
  t.match(heading, { role: 'heading', name: 'Tea "and" more', states: ['level=1'], ref: 'e1', text: '' })
  t.match(link, { role: 'link', name: 'All', url: '/shop?q="a"]', ref: 'f2e7', parent: heading })
  t.strictSame(heading?.children, [link])
  t.match(option, { role: 'option', states: ['selected'], text: 'large', parent: box })
  t.equal(option?.ref, undefined)
  t.end()
})

t.test('what a page calls an element is no part of the outline', (t) => {
  const [button, text] = readOutline(
    '- button "Buy [ref=e999] [checked]" [ref=e4]\n- text: "- link \\"x\\" [ref=e5]"\nnot an element'
  )
  t.match(button, { name: 'Buy [ref=e999] [checked]', ref: 'e4', states: [] })
  t.match(text, { role: 'text', text: '- link "x" [ref=e5]' })
  t.equal(text?.ref, undefined)
  t.end()
})

t.test('the text of an element is all that is below it, without what could be chosen', (t) => {
  const elements = readOutline(
    [
      '- list:',
      '  - listitem [ref=e1]:',
      '    - paragraph [ref=e2]:',
      '      - text: See our',
      '      - link "hours" [url="/h"] [ref=e3]',
      '      - text: "."',
      '    - combobox "Country" [ref=e4]:',
      '      - option "Ireland"'
    ].join('\n')
  )
  t.equal(textOf(elements[1]!), 'See our hours. Country')
  const link = elements.find(({ role }) => role === 'link')!
  t.equal(around(link, 'list'), elements[0])
  t.equal(around(link, 'main'), undefined)
  t.end()
})

t.test('a hostile outline takes no long time', (t) => {
  const begin = process.cpuUsage()
  for (const line of [
    '- a'.repeat(30_000),
    `- link "${'\\'.repeat(90_001)}`,
    `- a${' [b=c]'.repeat(15_000)} x`,
    '- a "'.repeat(20_000)
  ])
    readOutline(line)
  readOutline(Array.from({ length: 50_000 }, (_, at) => `${' '.repeat(at % 2_000)}- a`).join('\n'))
  t.ok(process.cpuUsage(begin).user < 2_000_000)
  t.end()
})
