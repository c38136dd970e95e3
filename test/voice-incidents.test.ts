import t from 'tap'
import { abuseCalls } from '../bench/soak/voice/abuse-calls.ts'

t.setTimeout(120_000)

// A short form of `npm run soak -- --only voice`.
t.test('calls that are cut, canceled, interrupted or fail leave nothing', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const { counts, faults, left } = await abuseCalls(30, seed, 8)
  t.comment(JSON.stringify([...counts]))
  t.same(faults, [])
  for (const [what, count] of Object.entries(left)) t.equal(count, 0, `${what} left`)
})
