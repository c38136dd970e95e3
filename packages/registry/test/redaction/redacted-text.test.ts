import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { RedactedText, secretsAmong, withoutSecrets } from '../../src/redaction/redact-value.ts'
import { redactBySearch } from '../helpers/redact-by-search.ts'
import { alikeKeys, textLike } from '../helpers/secret-texts.ts'

const key = 'sk-caller-0123'

t.test('a possible key across increments is held back until it is decided', (t) => {
  const text = new RedactedText(secretsAmong([key]))
  t.equal(text.add('it is sk-call'), 'it is ')
  t.ok(text.open)
  t.equal(text.add('er'), '')
  t.equal(text.add('-0123!'), '[redacted]!')
  t.notOk(text.open)
  t.equal(text.add('so sk-'), 'so ')
  t.equal(text.add('xyz'), 'sk-xyz')
  t.equal(text.flush(), '')
  t.end()
})

t.test('the rest of an interrupted key is not emitted', (t) => {
  const text = new RedactedText(secretsAmong([key]))
  t.equal(text.add('it is sk-call') + text.flush(), 'it is sk-call')
  t.equal(text.add('er-0'), '')
  t.equal(text.flush(), 'er-0')
  t.equal(text.add('123 it was.'), '[redacted] it was.')
  t.end()
})

t.test('nested and overlapping keys are redacted as one', (t) => {
  const cases: [keys: string[], text: string, told: string][] = [
    [['abcdefgh', 'abcdefghij'], 'xabcdefghij abcdefghi', 'x[redacted] [redacted]i'],
    [['abcdefgh', 'xabcdefghx'], 'xabcdefghx xabcdefgh', '[redacted] x[redacted]'],
    [['abcdefgh', 'efghijkl'], 'abcdefghijkl abcdefghijk', '[redacted] [redacted]ijk'],
    [['aaaaaaaa'], 'aaaaaaaaaaaa', '[redacted]'],
    [['abcdefgh'], 'abcdefghabcdefgh', '[redacted][redacted]']
  ]
  for (const [keys, text, told] of cases)
    for (const ordered of [keys, keys.toReversed()]) {
      const secrets = secretsAmong(ordered)
      t.equal(withoutSecrets(text, secrets), told)
      const letters = new RedactedText(secrets)
      t.equal(
        text
          .split('')
          .map((letter) => letters.add(letter))
          .join('') + letters.flush(),
        told
      )
    }
  t.end()
})

const alike = alikeKeys(4).chain((own) => {
  const text = textLike(own)
  const act = fc.oneof({ weight: 5, arbitrary: text }, fc.constant(null))
  return fc.tuple(fc.constant(own), fc.array(act, { maxLength: 20 }))
})

t.test('the emitted text is the same for any split or interruption, and contains no key', async () => {
  fc.assert(
    fc.property(alike, ([own, acts]) => {
      const text = new RedactedText(secretsAmong(own))
      const longest = Math.max(...own.map(({ length }) => length))
      const pieces = ['']
      const told = ['']
      let isBounded = true
      for (const act of [...acts, null]) {
        const last = pieces.length - 1
        if (act === null) {
          const rest = text.flush()
          isBounded &&= rest.length < longest + '[redacted]'.length
          told[last] += rest
          pieces.push('')
          told.push('')
        } else {
          pieces[last] += act
          told[last] += text.add(act)
        }
      }
      const wanted = redactBySearch(pieces, own)
      const all = told.join('')
      return (
        isBounded &&
        JSON.stringify(told) === JSON.stringify(wanted) &&
        !own.some((each) => all.includes(each))
      )
    }),
    { numRuns: cases(20_000) }
  )
})

t.test('the time is linear in the text, for any key', (t) => {
  const worst = `${'a'.repeat(4_000)}b`
  const secrets = secretsAmong([worst])
  const text = 'a'.repeat(2_000_000)
  const startedAt = performance.now()
  t.equal(withoutSecrets(`${worst}${text}`, secrets), `[redacted]${text}`)
  const increments = new RedactedText(secrets)
  let length = 0
  for (let at = 0; at < 200_000; at += 4) length += increments.add('aaaa').length
  t.equal(length + increments.flush().length, 200_000)
  const took = performance.now() - startedAt
  t.ok(took < 5_000, `${Math.round(took)} ms`)
  t.end()
})
