import { startPostgres } from '@tools/postgres'
import t from 'tap'
import { cutStreams, faultsOfCuts } from '../bench/soak/session-wires.ts'

t.setTimeout(300_000)

const postgres = await startPostgres().catch((err: Error) => err)
const skip = postgres instanceof Error && postgres.message

// A short form of `npm run soak -- --only session-wires`.
t.test('streams of sessions that are cut lose nothing while nodes are killed', { skip }, async (t) => {
  if (postgres instanceof Error) return
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const report = await cutStreams({
    postgres,
    cuts: 120,
    mostEvents: 4,
    kills: 2,
    atOnce: 4,
    seed,
    lease: { ttl: 3_000, beat: 500 },
    clockShifts: [0, 0, 0],
    // As soon as readers have received as much.
    times: { kill: [0, 0], restart: [0, 0], progress: 200 }
  })
  const { sessions, read, counts } = report
  t.comment(`${read.cuts} cuts of ${sessions.length} sessions, ${JSON.stringify(counts)}`)
  for (const [what, all] of Object.entries(faultsOfCuts(report))) t.same(all, [], what)
})
