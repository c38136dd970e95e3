import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { createCluster } from '../bench/soak/cluster/cluster.ts'
import { runRaces } from '../bench/soak/cluster/races.ts'

t.setTimeout(120_000)

const postgres = await startPostgres().catch((err: Error) => err)
const skip = postgres instanceof Error && postgres.message

// A short form of the races of `npm run soak -- --only cluster`.
t.test('races of two nodes have one winner, as in one process', { skip }, async (t) => {
  if (postgres instanceof Error) return
  const cluster = createCluster({ postgres, clockShifts: [0, 300_000], lease: { ttl: 10_000, beat: 2_500 } })
  t.teardown(() => cluster.close())
  await Promise.all(cluster.nodes.map((node) => node.start()))
  const [one, two] = cluster.nodes.map(({ url }) => url!) as [string, string]
  for (const [race, wrong] of Object.entries(await runRaces(one, two, 20))) t.same(wrong, [], race)
})
