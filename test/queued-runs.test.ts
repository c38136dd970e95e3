import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { queueUnderFire } from '../bench/soak/queue.ts'

t.setTimeout(120_000)
const server = await startPostgres().catch((err: Error) => err)

t.test(
  'queued runs of three owners on two nodes, of which one is killed, and a database that crashes: each ends once, within the limits',
  { skip: server instanceof Error && server.message },
  async (t) => {
    if (server instanceof Error) return
    t.teardown(() => server.stop())
    const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
    const report = await queueUnderFire(server, {
      many: 90,
      few: 15,
      work: 40,
      queue: { concurrency: 5, perOwner: 3 },
      lease: { ttl: 3_000, beat: 300 },
      kills: 1,
      crashes: 1,
      seed
    })
    t.comment(JSON.stringify({ seed, ...report }))
    const { lost, begunTwice, most, before, runs } = report
    t.same({ lost, begunTwice, runs }, { lost: 0, begunTwice: 0, runs: 120 })
    t.ok(most <= 3, `${most} runs of one owner at once`)
    t.ok(before <= 20, `${before} of 90 runs began before the first of others`)
  }
)
