import { assert, constantFrom, property, string } from 'fast-check'
import t from 'tap'
import { escapeNul, unescapeNul } from '../../src/encoding/values.ts'

// Mostly of the characters that matter.
const texts = string({ unit: 'binary' })
const controls = string({ unit: constantFrom('\u0000', '\u001a', '0', '1', 'a') })

t.test('a text comes back as it was, and is stored without a null character', async () => {
  for (const some of [texts, controls])
    assert(
      property(some, (text) => {
        const stored = escapeNul(text)
        return !stored.includes('\u0000') && unescapeNul(stored) === text
      })
    )
})

t.test('different texts are stored as different ones', async () => {
  assert(property(controls, controls, (a, b) => (a === b) === (escapeNul(a) === escapeNul(b))))
})

t.test('JSON is stored as it is', async () => {
  assert(property(controls, (text) => escapeNul(JSON.stringify(text)) === JSON.stringify(text)))
})
