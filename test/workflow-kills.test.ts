import t from 'tap'
import { killWorkflows } from '../bench/soak/workflow-kills.ts'

t.test('workflows killed with kill -9 resume where they stopped', { timeout: 120_000 }, async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const { runs, bad, repeated, interrupted } = await killWorkflows(5, seed)
  t.comment(`${runs} workflows, ${interrupted} steps interrupted`)
  t.ok(runs > 0)
  t.same(bad, [])
  t.same(repeated, [], 'recorded steps are not done again')
})
