import { applyPatch } from 'diff'
import * as fc from 'fast-check'
import t from 'tap'
import { diffLooks } from '../../src/look/take-look.ts'

const page = (...items: string[]): string =>
  ['- list:', ...items.map((item, index) => `  - listitem [ref=e${index}]: ${item}`)].join('\n')
const ITEMS = Array.from({ length: 50 }, (_, index) => `item ${index}`)

t.test('shows what changed, with a line around it', async (t) => {
  t.equal(
    diffLooks(page(...ITEMS), page(...ITEMS.with(20, 'new'))),
    [
      '@@ -21,3 +21,3 @@',
      '   - listitem [ref=e19]: item 19',
      '-  - listitem [ref=e20]: item 20',
      '+  - listitem [ref=e20]: new',
      '   - listitem [ref=e21]: item 21'
    ].join('\n')
  )
})

t.test('an unchanged page has an empty difference, another page none', async (t) => {
  t.equal(diffLooks(page(...ITEMS), page(...ITEMS)), '')
  t.equal(diffLooks(page(...ITEMS), '- heading "Other"'), undefined)
})

t.test('applied to the old text it gives the new one, and it is shorter', async () => {
  const lines = fc.array(fc.constantFrom(...ITEMS.slice(0, 12)), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const difference = diffLooks(before.join('\n'), after.join('\n'))
      if (difference === undefined) return true
      const patched = applyPatch(`${before.join('\n')}\n`, `--- a\n+++ b\n${difference}\n`)
      return patched === `${after.join('\n')}\n` && difference.length < after.join('\n').length
    })
  )
})
