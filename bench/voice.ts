import { measureInterruptions } from './voice/interruption.ts'
import { measureTurns } from './voice/latency.ts'
import { measureListening } from './voice/listening.ts'
import { INTERRUPT_AFTER } from './voice/phone.ts'
import { median } from './load.ts'

const CALLS = 200
const SECONDS = 10

/** Shows what calls cost beside their models: the time of a turn, of an interruption, and of listening. */
export async function reportVoice(rounds: number): Promise<void> {
  console.log('\nvoice agents, with models that take no time\n')
  // What the first call loads and compiles is of no call.
  await measureTurns(1, 10)
  const alone = await repeat(rounds, () => measureTurns(1, 50))
  line('end of a turn → first audio, ms', percentiles(alone), 'p50 ≤ 10, p99 ≤ 25')
  const together = await repeat(rounds, () => measureTurns(50, 5))
  line('the same in 50 calls at once, ms', percentiles(together), 'p99 ≤ 40')
  const cuts = await repeat(rounds, () => measureInterruptions(5))
  line('speech → clear, ms', percentiles(cuts), `≤ ${INTERRUPT_AFTER + 60}`)
  const listening = await repeat(rounds, () => measureListening(CALLS, SECONDS))
  const of = (key: keyof (typeof listening)[number]) => median(listening.map((round) => round[key]))
  line(`CPU per second of listening, ${CALLS} calls, ms`, of('cpuPerSecond').toFixed(2), '≤ 2.5')
  line('memory of a call, kB', (of('rssPerCall') / 1_000).toFixed(0), '≤ 600')
  line('longest delay of the event loop, ms', of('longestDelay').toFixed(0), '≤ 40')
}

async function repeat<T>(rounds: number, measure: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  for (let round = 0; round < rounds; round++) all.push(await measure())
  return all
}

/** The medians, over the rounds, of their p50 and p99. */
function percentiles(rounds: readonly (readonly number[])[]): string {
  const at = (share: number) =>
    median(rounds.map((sorted) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!))
  return `p50 ${at(0.5).toFixed(1)}, p99 ${at(0.99).toFixed(1)}`
}

function line(what: string, value: string, target: string): void {
  console.log(`${what.padEnd(48)}${value.padEnd(24)}target ${target}`)
}
