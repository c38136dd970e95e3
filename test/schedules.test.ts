import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { scheduleUnderFire } from '../bench/soak/schedules.ts'

t.setTimeout(120_000)
const server = await startPostgres().catch((err: Error) => err)

t.test(
  'a schedule on three nodes, of which those that fire are killed: each instant has one run',
  { skip: server instanceof Error && server.message },
  async (t) => {
    if (server instanceof Error) return
    t.teardown(() => server.stop())
    const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
    const report = await scheduleUnderFire(server, { nodes: 3, instants: 5, kills: 0.5, seed })
    t.comment(JSON.stringify({ seed, ...report }))
    const { lost, repeated, begunTwice } = report
    t.same({ lost, repeated, begunTwice }, { lost: 0, repeated: 0, begunTwice: 0 })
  }
)
