import t from 'tap'
import { takeRandomTurns } from '../bench/soak/voice/random-turns.ts'

t.setTimeout(60_000)

const TURNS = 40

// A short form of `npm run soak -- --only voice`.
t.test(`${TURNS} turns with random delays, tools and interruptions are answered in order`, async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const { faults, ...counts } = await takeRandomTurns(TURNS, seed)
  t.comment(JSON.stringify(counts))
  for (const [what, all] of Object.entries(faults)) t.same(all, [], what)
})
