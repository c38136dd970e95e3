import { once } from 'node:events'
import type { RunContext } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

for (const revision of REVISIONS)
  for (const onDisconnect of ['continue', 'cancel'] as const)
    void t.test(`${revision}: a client leaves, its run is to ${onDisconnect}`, async (t) => {
      const events = new EventTarget()
      let finish: (() => void) | undefined
      const slow = {
        kind: 'agent' as const,
        name: 'slow',
        run: async (_input: unknown, { runId, signal }: RunContext) => {
          await new Promise<void>((resolve, reject) => {
            finish = resolve
            signal.addEventListener('abort', () => reject(signal.reason as Error))
            events.dispatchEvent(new CustomEvent('start', { detail: runId }))
          })
          return 'Done'
        }
      }
      const { url, runs } = await mcpApp(t, { runnables: [slow], options: { onDisconnect } })
      const client = await connect(t, url, { revision })
      const started = once(events, 'start') as Promise<[CustomEvent<string>]>
      const call = client.callTool({ name: 'slow', arguments: { message: 'x' } })
      const [{ detail: runId }] = await started
      const refused = t.rejects(call)
      await client.close()
      await refused
      if (onDisconnect === 'continue') finish!()
      const last = await lastOf(runs.parts(runId))
      t.match(last, { type: 'finish', finishReason: onDisconnect === 'cancel' ? 'canceled' : 'stop' })
    })

async function lastOf<T>(all: AsyncIterable<T>): Promise<T | undefined> {
  let last: T | undefined
  for await (const each of all) last = each
  return last
}
