import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { faultsOf } from '../bench/soak/cluster.ts'
import { runChaos } from '../bench/soak/cluster/chaos.ts'

t.setTimeout(300_000)

const postgres = await startPostgres().catch((err: Error) => err)
const skip = postgres instanceof Error && postgres.message

// A short form of `npm run soak -- --only cluster`.
t.test('three nodes lose, repeat and change nothing while everything fails', { skip }, async (t) => {
  if (postgres instanceof Error) return
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const chaos = await runChaos({
    postgres,
    runs: 60,
    seed,
    atOnce: 15,
    clockShifts: [-300_000, 0, 300_000],
    conversations: 0.4,
    schedules: [2_000, 5_000],
    lease: { ttl: 3_000, beat: 500 },
    times: {
      kill: [2_000, 4_000],
      restart: [6_000, 9_000],
      stop: [3_000, 6_000],
      away: [3_500, 5_000],
      network: [3_000, 6_000],
      crash: [4_000, 4_000],
      down: [1_000, 2_000],
      disconnect: [2_000, 4_000],
      progress: 30
    }
  })
  const { runs, counts, poisoned, takeovers, steps, silences } = chaos
  t.comment(`${runs} runs, ${takeovers.times.length} takeovers, ${JSON.stringify(counts)}`)
  t.comment(
    `silences of readers: most ${silences.all.at(-1)} ms, ${silences.mended} ms while everything worked`
  )
  // On a busy machine a lease ends, and a run meets several faults, before its next step.
  t.comment(`${poisoned.length} poisoned, ${takeovers.fromSilent.length} taken from a silent node`)
  t.comment(`${steps.interrupted} steps interrupted, ${steps.stopped} stopped`)
  for (const [what, all] of Object.entries(faultsOf(chaos))) t.same(all, [], what)
})
