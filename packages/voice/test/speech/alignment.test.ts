import { decodeTones, encodeTones } from '../../src/testing/tone-codec.ts'
import * as fc from 'fast-check'
import t from 'tap'
import { joinSamples } from '../../src/audio/codec.ts'
import { Alignment, toSpeakable } from '../../src/speech/sentences.ts'

const RATE = 8_000
const sentence = (text: string) => ({ text, speech: toSpeakable(text) })

/** The texts, each as audio with some silence around it. */
function align(texts: string[], { before = 0, after = 0 } = {}) {
  const alignment = new Alignment()
  const audio = texts.map((text) => {
    const each = sentence(text)
    const tones = each.speech === '' ? new Int16Array(0) : encodeTones(each.speech, RATE)
    const silence = (ms: number) => new Int16Array(each.speech === '' ? 0 : (ms * RATE) / 1000)
    const samples = joinSamples([silence(before), tones, silence(after)])
    alignment.begin(each)
    for (let at = 0; at < samples.length; at += 700) alignment.add(samples.subarray(at, at + 700), RATE)
    return samples
  })
  alignment.end()
  return { alignment, audio: joinSamples(audio) }
}

const wordsOf = (text: string) => toSpeakable(text).split(/\s+/).filter(Boolean)
const words = fc
  .array(fc.stringMatching(/^[a-zäöü]{1,9}$/), { minLength: 1, maxLength: 8 })
  .map((each) => `${each.join(' ')}. `)

t.test('the text up to any moment is what the audio says, within a word', async () => {
  fc.assert(
    fc.property(
      fc.array(words, { minLength: 1, maxLength: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.record({ before: fc.constantFrom(0, 250), after: fc.constantFrom(0, 300) }),
      (texts, share, silence) => {
        const { alignment, audio } = align(texts, silence)
        const samples = Math.floor(audio.length * share)
        const aligned = alignment.textAt((samples / RATE) * 1000)
        const decoded = decodeTones(audio.subarray(0, samples), RATE)
        const difference = wordsOf(decoded).length - wordsOf(aligned).length
        return texts.join('').startsWith(aligned) && difference >= -1 && difference <= 1
      }
    ),
    { numRuns: 100 }
  )
})

t.test('it grows with time, up to the whole text', async () => {
  fc.assert(
    fc.property(fc.array(words, { minLength: 1, maxLength: 4 }), (texts) => {
      const { alignment } = align(texts, { before: 100, after: 100 })
      let last = ''
      for (let ms = 0; ms <= alignment.durationMs; ms += 40) {
        const text = alignment.textAt(ms)
        if (!text.startsWith(last)) return false
        last = text
      }
      return alignment.textAt(0) === '' && alignment.textAt(alignment.durationMs) === texts.join('')
    }),
    { numRuns: 40 }
  )
})

t.test('the text is the generated one, with its Markdown', async (t) => {
  const { alignment } = align([
    '**Hello** there, see [our site](https://a.example/b). ',
    '```\ncode\n```\n',
    'Bye.'
  ])
  t.equal(alignment.textAt(5 * 30), '**Hello')
  t.equal(alignment.textAt(16 * 30), '**Hello** there, see')
  t.equal(alignment.textAt(20 * 30), '**Hello** there, see [our')
  t.equal(alignment.textAt(26 * 30), '**Hello** there, see [our site](https://a.example/b). ```\ncode\n```\n')
  t.equal(
    alignment.textAt(9_999),
    '**Hello** there, see [our site](https://a.example/b). ```\ncode\n```\nBye.'
  )
})

t.test('a sentence whose audio is still to come counts by the pace of the one before', async (t) => {
  const alignment = new Alignment()
  alignment.begin(sentence('one two three four. '))
  alignment.add(encodeTones('one two three four.', RATE).subarray(0, RATE * 0.03 * 8), RATE)
  t.equal(alignment.durationMs, 240)
  t.equal(alignment.textAt(240), 'one', 'at 70 ms a byte')
  alignment.add(encodeTones('one two three four.', RATE).subarray(RATE * 0.03 * 8), RATE)
  alignment.begin(sentence('five six seven.'))
  alignment.add(encodeTones('five six seven.', RATE).subarray(0, RATE * 0.03 * 9), RATE)
  t.equal(alignment.textAt(alignment.durationMs), 'one two three four. five six')
})

t.test('audio without a sentence, and an answer without audio', async (t) => {
  const alignment = new Alignment()
  alignment.add(new Int16Array(80), RATE)
  t.equal(alignment.durationMs, 0)
  t.equal(alignment.textAt(100), '')
  alignment.begin(sentence('Never spoken.'))
  t.equal(alignment.textAt(0), '')
})
