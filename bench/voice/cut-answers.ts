import type { AudioFormat, SessionMessage } from '@svc/registry'
import { decodeTones, voiceLink, type TestVoiceLink } from '@svc/voice/testing'
import { Random } from '../soak/random.ts'
import { ANSWERER, createPhone } from './phone.ts'
import { startCall } from './start-call.ts'

/** What became of the answers that were cut. */
export interface CutAnswers {
  /** Cuts after which the text that was kept is that of the audio, within one word. */
  readonly exact: number
  readonly faults: readonly string[]
}

/** Every format of the audio of a call. */
export const FORMATS: readonly AudioFormat[] = [
  ...[8_000, 16_000, 22_050, 24_000, 44_100, 48_000].map((rate) => ({ type: 'audio/pcm' as const, rate })),
  { type: 'audio/pcmu', rate: 8_000 },
  { type: 'audio/pcma', rate: 8_000 }
]
const WORDS = 'rain tomorrow Köln über 100_% a I straße eighteen Rome windy to Jürgen'
  .split(' ')
  .map((word) => word.replace('_', ' '))
const QUESTION = 'how is the weather'

/** Interrupts answers of one call at random moments, some after a false alarm; the audio carries the text as tones. */
export async function cutAnswers(format: AudioFormat, cuts: number, seed: number): Promise<CutAnswers> {
  const random = new Random(seed)
  const faults: string[] = []
  const expect = (isSo: boolean, otherwise: string) => {
    if (!isSo) faults.push(otherwise)
    return isSo
  }
  const sentence = (words: number) => Array.from({ length: words }, () => random.pick(WORDS)).join(' ')
  let answer = ''
  const script = () => (answer = `${sentence(9)}. ${sentence(5 + random.below(8))}! ${sentence(8)}.`)
  const phone = createPhone(script, { answerer: { history: { maxMessages: 1_000 } } })
  const link = voiceLink({ playback: 'reports', settings: { input: format, output: format } })
  const call = await startCall(phone, link)
  const asked = [QUESTION]
  const kept: string[] = []
  let exact = 0
  link.speak(QUESTION)
  for (let cut = 0; cut < cuts; cut++) {
    const { itemId, durationMs, text: generated } = await link.next('answer.end')
    expect(generated === answer, `"${generated}" is not the answer`)
    const played = random.next() * (durationMs - 1_500)
    link.played(itemId, played)
    if (random.chance(0.3)) await alarm(itemId, generated)
    // Long enough to interrupt.
    const words = `please ${sentence(1 + random.below(4))}`
    asked.push(words)
    link.speak(words)
    const { heardMs, text } = await link.next('clear')
    const said = saidBy(link, itemId, format, heardMs)
    expect(heardMs >= Math.floor(played), `cut at ${heardMs} ms after ${played} ms were played`)
    const isExact = generated.startsWith(text) && isWithinOneWord(text, said)
    if (expect(isExact, `"${text}" is kept, "${said}" was said`)) exact++
    // As clients confirm it; without that, the call waits a moment for another position.
    link.push({ type: 'truncate', itemId, heardMs })
    const truncated = await link.next('truncated')
    expect(truncated.heardMs === heardMs && truncated.text === text, `"${truncated.text}" is truncated`)
    const transcript = await link.next('transcript', ({ final }) => final)
    expect(transcript.text === words, `"${words}" was understood as "${transcript.text}"`)
    kept.push(text)
  }
  await link.next('answer.end')
  link.hangUp()
  await call.end()
  const messages = await call.sessionOf(ANSWERER)
  const users = messages.flatMap((each) => (each.role === 'user' ? [each.content as string] : []))
  expect(isSame(users, asked), `the session has the turns ${users.join(', ')}`)
  const texts = messages.flatMap(textOf).slice(0, cuts)
  expect(isSame(texts, kept), `the session has the answers ${texts.join(', ')}`)
  return { exact, faults }

  // Noise stops the playback; without words, it is resumed, and all of the audio is there.
  async function alarm(itemId: string, generated: string): Promise<void> {
    const samples = ((300 + random.below(200)) * format.rate) / 1_000
    link.microphone(Int16Array.from({ length: samples }, () => (random.next() - 0.5) * 16_000))
    const { heardMs } = await link.next('clear')
    link.silence(800)
    const { startMs } = await link.next('audio')
    expect(Math.abs(startMs - heardMs) < 1, `resumed at ${startMs}, not ${heardMs}`)
    const said = saidBy(link, itemId, format)
    expect(said === generated, `after a false alarm, "${said}" was said of "${generated}"`)
  }
}

const isSame = (one: readonly string[], other: readonly string[]) =>
  JSON.stringify(one) === JSON.stringify(other)

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
  return decodeTones(link.audioOf(itemId).subarray(0, Math.round((ms * rate) / 1_000)), rate)
}

function textOf(message: SessionMessage): string[] {
  return message.role === 'assistant' ? [message.text ?? ''] : []
}
