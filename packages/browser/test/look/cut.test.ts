import * as fc from 'fast-check'
import t from 'tap'
import { cutLines } from '../../src/look/take-look.ts'

const viewport = { width: 1280, height: 800 }
const box = fc.record({
  x: fc.constant(0),
  y: fc.integer({ min: -3000, max: 9000 }),
  width: fc.constant(100),
  height: fc.constant(20)
})
const line = fc.record({
  depth: fc.nat({ max: 6 }),
  text: fc.string({ unit: 'grapheme', maxLength: 400 }).map((text) => `- ${text.replaceAll('\n', ' ')}`),
  box: fc.option(box, { nil: undefined })
})

t.test('never exceeds its budget, nor cuts a surrogate pair', async () => {
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 200 }),
      fc.integer({ min: 1000, max: 30_000 }),
      (lines, maxChars) => {
        const { text, omitted } = cutLines(lines, { viewport, maxChars })
        return text.length <= maxChars && text.isWellFormed() && omitted >= 0 && omitted <= lines.length
      }
    )
  )
})

t.test('what is in the viewport comes first, below its ancestors, in the order of the page', async (t) => {
  const lines = Array.from({ length: 3000 }, (_, index) => ({
    depth: index === 0 ? 0 : 1,
    text: `- item ${index}`,
    box: index === 0 ? undefined : { x: 0, y: (index - 2000) * 20, width: 100, height: 20 }
  }))
  const { text, omitted } = cutLines(lines, { viewport, maxChars: 2000 })
  t.match(text, /^- item 0\n/)
  for (let index = 2000; index < 2040; index++) t.match(text, `- item ${index}\n`)
  t.notMatch(text, '- item 1999\n')
  t.match(text, /more lines below$/)
  t.match(text, /more lines in between/)
  t.equal(omitted, 3000 - text.match(/- item/g)!.length)
})

t.test('one long text does not take the whole budget', async (t) => {
  const { text } = cutLines(
    [
      { depth: 0, text: `- ${'😀'.repeat(500_000)}` },
      { depth: 0, text: '- button "Buy"' }
    ],
    { viewport }
  )
  t.ok(text.length < 7000)
  t.ok(text.isWellFormed())
  t.match(text, /… \d+ more characters\n- button "Buy"$/)
})
