import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createRunEngine, defineRunnable, type Runnable, type RunContext } from '@svc/registry'
import { createStore } from '@svc/store'

// A service one of whose runs kills it. Without ids it starts all of them; with ids it says how they ended, once the killer is stopped.
const [, , url = '', ...ids] = process.argv

function make(name: string, act: (context: RunContext, input: unknown) => Promise<unknown>): Runnable {
  return defineRunnable({
    kind: 'agent',
    name,
    resumable: true,
    takesTurns: true,
    async *stream(input, context) {
      yield { type: 'text', text: String(await act(context, input)) }
    }
  })
}

const said = Promise.withResolvers<void>()
if (ids.length > 0) said.resolve()
const begun = Promise.withResolvers<void>()
const killer = make('killer', (context, input) =>
  context.step('kill', async () => {
    await said.promise
    if (input === 'kill') process.kill(process.pid, 'SIGKILL')
    return 'spared'
  })
)
const slow = make('slow', (context) =>
  context.step('slow', async () => {
    begun.resolve()
    // Longer than its process lives beside the killer.
    await pause(ids.length === 0 ? 600_000 : 500)
    return 'slow'
  })
)
const asking = make(
  'asking',
  async (context) => (await context.ask({ message: 'Go?', durable: true })).action
)
const runnables = [killer, slow, asking]

const engine = createRunEngine({ stores: await createStore({ url }), drainTimeout: 0 })
setInterval(() => {}, 60_000)
for (const runnable of runnables) await engine.resume(runnable)
await engine.recover()
if (ids.length === 0) {
  const options = { onDisconnect: 'continue', sessionId: 's' } as const
  const started = [
    await engine.start(asking, 'x', options),
    await engine.start(slow, 'x', options),
    await engine.start(slow, 'queued', options)
  ]
  for await (const { type } of started[0]!.parts()) if (type === 'input.request') break
  await begun.promise
  const queued = { ...options, sessionId: 'k' }
  const { runId } = await engine.start(killer, 'kill', queued)
  const behind = await engine.start(killer, 'spare', queued)
  writeSync(1, [runId, behind.runId, ...started.map((run) => run.runId)].join(' '))
  said.resolve()
} else {
  const [killed = '', , asks = ''] = ids
  for await (const _ of engine.parts(killed));
  await engine.answer(`${asks}.1`, { action: 'accept' })
  const ends: unknown[] = []
  for (const runId of ids) {
    for await (const _ of engine.parts(runId));
    const run = await engine.get(runId)
    ends.push(run?.error?.code ?? run?.result?.text)
  }
  writeSync(1, JSON.stringify(ends))
  process.kill(process.pid, 'SIGTERM')
}
