import { join } from 'node:path'
import { startPostgres } from '@tools/postgres'
import t, { type Test } from 'tap'
import { webhooksUnderFire } from '../bench/soak/webhooks.ts'
import type { WebhookLoad } from '../bench/soak/webhooks/load.ts'

t.setTimeout(180_000)
const server = await startPostgres().catch((err: Error) => err)

async function requireDelivered(t: Test, load: Pick<WebhookLoad, 'store' | 'processes'>): Promise<void> {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  const outcome = await webhooksUnderFire({ ...load, rounds: 3, runs: 4, kills: 0.7, seed })
  t.comment(JSON.stringify({ seed, ...outcome }))
  const { lost, unverified, renamed, early } = outcome
  t.same({ lost, unverified, renamed, early }, { lost: 0, unverified: 0, renamed: 0, early: 0 })
}

t.test('a process on a file that is killed when a run has ended delivers every message', async (t) =>
  requireDelivered(t, { store: { url: `sqlite:${join(t.testdir(), 'webhooks.db')}` }, processes: 1 })
)

t.test(
  'nodes that are killed when a run has ended: others deliver every message',
  { skip: server instanceof Error && server.message },
  async (t) => {
    if (server instanceof Error) return
    t.teardown(() => server.stop())
    await requireDelivered(t, {
      store: { url: server.url, lease: { ttl: 3_000, beat: 500 } },
      processes: 3
    })
  }
)
