import { Random } from './soak/random.ts'
import { cutAnswers, FORMATS } from './voice/cut-answers.ts'
import { measureInterruptions } from './voice/interruption.ts'
import { measureTurns } from './voice/latency.ts'
import { measureLag } from './voice/lag.ts'
import { measureListening } from './voice/listening.ts'
import { INTERRUPT_AFTER } from './voice/phone.ts'
import { measureRealSpeech, type SpokenQuestion } from './voice/real-speech.ts'
import { runInVoice } from './voice/run-in-voice.ts'
import { median, percentile } from './figures.ts'

const CALLS = 200
const SECONDS = 10
const CUTS = 200

/** Options of the section. */
export interface VoiceReportOptions {
  /** The file of Silero VAD; default: it is not measured. */
  readonly silero?: string | undefined
}

/**
 * Shows what calls cost beside their models, the time of an answer to real speech, how exact interruptions and detectors are, and what a
 * lost connection to a realtime model loses.
 */
export async function report(rounds: number, { silero }: VoiceReportOptions = {}): Promise<void> {
  console.log('\nvoice agents, with models that take no time\n')
  await reportTurns(rounds)
  await reportListening(rounds)
  await reportExactness()
  console.log('\nvoice agents, with espeak-ng and pocketsphinx\n')
  await reportRealSpeech(rounds)
  await runInVoice('detection.ts', silero === undefined ? [] : ['--silero', silero])
}

async function reportTurns(rounds: number): Promise<void> {
  // What the first call loads and compiles is of no call.
  await measureTurns(1, 10)
  const lag = await repeat(rounds, () => measureLag(50))
  line('control: how late a timer is, ms', percentiles(lag))
  const alone = await repeat(rounds, () => measureTurns(1, 50))
  line('end of a turn → first audio, ms', percentiles(alone), 'p50 ≤ 10, p99 ≤ 25')
  const together = await repeat(rounds, () => measureTurns(50, 5))
  line('the same in 50 calls at once, ms', percentiles(together), 'p99 ≤ 40')
  const cuts = await repeat(rounds, () => measureInterruptions(5))
  line('speech → clear, ms', percentiles(cuts), `≤ ${INTERRUPT_AFTER + 60}`)
}

async function reportListening(rounds: number): Promise<void> {
  const listening = await repeat(rounds, () => measureListening(CALLS, SECONDS))
  const of = (key: keyof (typeof listening)[number]) => median(listening.map((round) => round[key]))
  line(`CPU per second of listening, ${CALLS} calls, ms`, of('cpuPerSecond').toFixed(2), '≤ 2.5')
  line('memory of a call, kB', (of('rssPerCall') / 1_000).toFixed(0), '≤ 600')
  line(`latest frame of ${CALLS} calls on one core, ms`, of('longestDelay').toFixed(0), '≤ 40')
  line('  control: of a process without calls, ms', of('idleDelay').toFixed(0))
}

async function reportExactness(): Promise<void> {
  const seed = Date.now() % 1e9
  const random = new Random(seed)
  const each = CUTS / FORMATS.length
  let exact = 0
  for (const format of FORMATS) {
    const cut = await cutAnswers(format, each, random.below(2 ** 31))
    for (const fault of cut.faults)
      console.error(`seed ${seed}, ${format.type} at ${format.rate} Hz: ${fault}`)
    exact += cut.exact
  }
  const target = `${CUTS} of ${CUTS}`
  line('text that is kept, within a word of the audio', `${exact} of ${CUTS} cuts`, target)
  await runInVoice('upstream-cuts.ts', ['--cuts', '100', '--seed', String(seed)])
}

async function reportRealSpeech(rounds: number): Promise<void> {
  const questions: SpokenQuestion[] = []
  for (let round = 0; round < rounds; round++) {
    const answered = await measureRealSpeech()
    if ('missing' in answered) return console.log(`real speech is not measured: ${answered.missing}`)
    questions.push(...answered)
  }
  const show = (key: 'latency' | 'control') => {
    const sorted = questions.map((question) => question[key]).toSorted((a, b) => a - b)
    return `p50 ${percentile(sorted, 0.5).toFixed(0)}, p95 ${percentile(sorted, 0.95).toFixed(0)}`
  }
  line('end of the voice → first audio, ms', show('latency'), 'p95 ≤ 900')
  line('  control: the silence, and the programs alone', show('control'))
  const understood = questions.filter(({ isUnderstood }) => isUnderstood).length
  line('questions understood', `${understood} of ${questions.length}`, 'all')
}

async function repeat<T>(rounds: number, measure: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let round = 0; round < rounds; round++) all.push(await measure())
  return all
}

/** The medians, over the rounds, of their p50 and p99. */
function percentiles(rounds: readonly (readonly number[])[]): string {
  const middle = (share: number) => median(rounds.map((sorted) => percentile(sorted, share)))
  return `p50 ${middle(0.5).toFixed(1)}, p99 ${middle(0.99).toFixed(1)}`
}

function line(what: string, value: string, target?: string): void {
  console.log(
    `${what.padEnd(48)}${value.padEnd(24)}${target === undefined ? '' : `target ${target}`}`.trimEnd()
  )
}
