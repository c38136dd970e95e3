import t from 'tap'
import { killAgents } from '../bench/soak/agents/kill-agents.ts'

t.setTimeout(300_000)

// A short form of `npm run soak -- --only agents`.
t.test('agents, teams and workflows killed with kill -9 resume where they stopped', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const { counts, faults } = await killAgents({ count: 12, seed, batch: 12 })
  t.comment(JSON.stringify(counts))
  for (const [what, all] of Object.entries(faults)) t.same(all, [], what)
})
