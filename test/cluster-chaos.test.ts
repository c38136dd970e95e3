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
    runs: 40,
    seed,
    atOnce: 20,
    clockShifts: [-300_000, 0, 300_000],
    lease: { ttl: 1_500, beat: 300 },
    times: {
      kill: [2_000, 4_000],
      stop: [3_000, 6_000],
      away: [1_800, 3_000],
      network: [3_000, 6_000],
      crash: [4_000, 4_000],
      disconnect: [2_000, 4_000]
    }
  })
  const { runs, counts, takeovers, steps } = chaos
  t.comment(`${runs} runs, ${takeovers.times.length} takeovers, ${JSON.stringify(counts)}`)
  t.comment(`${steps.interrupted} steps interrupted, ${steps.stopped} stopped`)
  for (const [what, all] of Object.entries(faultsOf(chaos))) t.same(all, [], what)
})
