import type { AudioFormat, SessionMessage } from '@svc/registry'
import { decodeTones, type TestVoiceLink } from '@svc/runtime/testing'
import t from 'tap'
import { startCall } from '../helpers/start-call.ts'

t.setTimeout(60_000)

/** Interruptions of one call. */
const COUNT = 25
const FORMATS: AudioFormat[] = [
  ...[8_000, 16_000, 22_050, 24_000, 44_100, 48_000].map((rate) => ({ type: 'audio/pcm' as const, rate })),
  { type: 'audio/pcmu', rate: 8_000 },
  { type: 'audio/pcma', rate: 8_000 }
]
const WORDS = [
  'rain',
  'tomorrow',
  'Köln',
  'über',
  '100 %',
  'a',
  'I',
  'straße',
  'eighteen',
  'Rome',
  'windy',
  'to',
  'Jürgen'
]

/** Reproducible by its seed: a linear congruential generator. */
function dice(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const upTo = (most: number) => Math.floor(next() * most)
  const sentence = (words: number) =>
    Array.from({ length: words }, () => WORDS[upTo(WORDS.length)] as string).join(' ')
  return { next, upTo, sentence }
}

// A sign belongs to the number before it.
const wordsOf = (text: string) => text.split(/\s+(?!%)/).filter((word) => word !== '')

/** True if the texts begin with the same words, and one has at most one word more. */
function isWithinOneWord(text: string, said: string): boolean {
  const [one, other] = [wordsOf(text), wordsOf(said)]
  const whole = Math.min(one.length, other.length)
  return (
    Math.abs(one.length - other.length) <= 1 &&
    one.slice(0, whole - 1).every((word, at) => word === other[at])
  )
}

/** What the client has received of an answer, up to a time. */
function saidBy(link: TestVoiceLink, itemId: string, { rate }: AudioFormat, ms = Infinity): string {
  return decodeTones(link.audioOf(itemId).subarray(0, Math.round((ms * rate) / 1000)), rate)
}

for (const format of FORMATS) {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.test(`${COUNT} random interruptions of ${format.type} at ${format.rate} Hz, seed ${seed}`, async (t) => {
    const { next, upTo, sentence } = dice(seed)
    const answers: string[] = []
    const { link, run, session } = await startCall(t, {
      script() {
        const answer = `${sentence(9)}. ${sentence(5 + upTo(8))}! ${sentence(8)}.`
        answers.push(answer)
        return answer
      },
      link: { playback: 'reports', settings: { input: format, output: format } }
    })
    const kept: string[] = []
    const asked = ['how is the weather']
    link.speak('how is the weather')
    for (let count = 0; count < COUNT; count++) {
      const { itemId, durationMs, text: generated } = await link.next('answer.end')
      t.equal(generated, answers.at(-1))
      const played = next() * (durationMs - 1_500)
      link.played(itemId, played)
      if (next() < 0.3) await alarm(itemId, generated)
      // Long enough to interrupt.
      const words = `please ${sentence(1 + upTo(4))}`
      asked.push(words)
      link.speak(words)
      const { heardMs, text } = await link.next('clear')
      const said = saidBy(link, itemId, format, heardMs)
      t.ok(heardMs >= Math.floor(played) && generated.startsWith(text), `${heardMs} after ${played}`)
      t.ok(isWithinOneWord(text, said), `"${text}" is kept, "${said}" was said`)
      // As clients confirm it; without that, the call waits a moment for another position.
      link.push({ type: 'truncate', itemId, heardMs })
      t.match(await link.next('truncated'), { heardMs, text })
      const transcript = await link.next('transcript', ({ final }) => final)
      t.equal(transcript.text, words, 'no syllable is lost')
      kept.push(text)
    }
    await link.next('answer.end')
    link.hangUp()
    await run.result()
    const messages = await session()
    t.strictSame(
      messages.flatMap((each) => (each.role === 'user' ? [each.content] : [])),
      asked
    )
    t.strictSame(messages.flatMap(textOf).slice(0, COUNT), kept)

    // Noise stops the playback; without words, it is resumed, and all of the audio is there.
    async function alarm(itemId: string, generated: string) {
      const samples = ((300 + upTo(200)) * format.rate) / 1000
      link.microphone(Int16Array.from({ length: samples }, () => (next() - 0.5) * 16_000))
      const { heardMs } = await link.next('clear')
      link.silence(800)
      const { startMs } = await link.next('audio')
      t.ok(Math.abs(startMs - heardMs) < 1, 'resumed where it stopped')
      t.equal(saidBy(link, itemId, format), generated)
    }
  })
}

function textOf(message: SessionMessage): string[] {
  return message.role === 'assistant' ? [message.text ?? ''] : []
}
