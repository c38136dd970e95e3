import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { deployUnderLoad } from '../bench/soak/cluster/rolling-deploy.ts'

t.setTimeout(120_000)

const postgres = await startPostgres().catch((err: Error) => err)
const skip = postgres instanceof Error && postgres.message

t.test('three nodes are replaced one by one, and no request fails', { skip }, async (t) => {
  if (postgres instanceof Error) return
  const lease = { ttl: 10_000, beat: 2_500 }
  const options = { postgres, clockShifts: [0, 0, 0], lease, drainTimeout: 15_000 }
  const { runs, served, refused, repeated, failed, logs, stuck } = await deployUnderLoad(options, 6)
  t.comment(
    `${runs} runs, ${served} requests served, ${refused} refused with Retry-After, ${repeated} repeated`
  )
  t.same(failed, [], 'failed requests')
  t.same(stuck, [], 'lost runs')
  for (const [what, all] of Object.entries(logs)) t.same(all, [], what)
})
