import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { RunContext, Runnable } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import { endsWithin } from '@tools/wires/ends-within'
import t from 'tap'
import { buildApp, type TestApp } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'

/** An agent that works until it is told to go on or is canceled, and what happens to it. */
function worker(): { runnable: Runnable; started: Promise<RunContext>; goOn: () => void } {
  const { promise: started, resolve } = Promise.withResolvers<RunContext>()
  const { promise: told, resolve: goOn } = Promise.withResolvers<void>()
  const runnable = scriptedRunnable([
    { type: 'text', text: 'one ' },
    (context) => {
      resolve(context)
      return told
    },
    { type: 'text', text: 'two' }
  ])
  return { runnable, started, goOn }
}

/** Starts a run, and goes away as soon as the agent works. */
async function leave({ post }: TestApp, verb: string, started: Promise<RunContext>, body: object = {}) {
  const client = new AbortController()
  const path = `/agents/scripted/${verb}`
  const response = post(path, { input: 'x', ...body }, {}, client.signal).then((it) => it.text())
  const context = await started
  const { signal } = context
  // A stream's client has its headers by now or goes away before: both must do.
  await pause(20)
  client.abort()
  await response.catch(() => {})
  return { context, signal }
}

for (const verb of ['run', 'stream']) {
  t.test(`${verb}: a client that goes away cancels the run`, async (t) => {
    const { runnable, started } = worker()
    const app = await buildApp(t, { runnables: [runnable] })
    const { context, signal } = await leave(app, verb, started)
    t.ok(signal.aborted || (await endsWithin(200, once(signal, 'abort'))), 'within 200 ms')
    t.match(signal.reason, { code: 'RUN_ERR_CANCELED' })
    t.match(await app.runs.get(context.runId), { status: 'canceled' })
    t.equal(app.runs.active, 0)
  })

  for (const where of ['body', 'options'] as const) {
    t.test(`${verb}: with onDisconnect 'continue' in the ${where} it goes on`, async (t) => {
      const { runnable, started, goOn } = worker()
      const keep = { onDisconnect: 'continue' } as const
      const app = await buildApp(t, { runnables: [runnable], ...(where === 'options' && { options: keep }) })
      const { context, signal } = await leave(app, verb, started, where === 'body' ? keep : {})
      await pause(100)
      t.equal(signal.aborted, false)
      goOn()
      const parts = await readParts(await app.get(`/runs/${context.runId}/stream`))
      t.match(parts.at(-1), { type: 'finish', finishReason: 'stop' })
      t.match((await app.runs.get(context.runId))?.result, { text: 'one two' })
    })
  }

  t.test(`${verb}: the body wins over the options`, async (t) => {
    const { runnable, started } = worker()
    const app = await buildApp(t, { runnables: [runnable], options: { onDisconnect: 'continue' } })
    const { signal } = await leave(app, verb, started, { onDisconnect: 'cancel' })
    if (!signal.aborted) await once(signal, 'abort')
    t.pass('canceled')
  })

  t.test(`${verb}: a client that stays is never cut off`, async (t) => {
    const { runnable, started, goOn } = worker()
    const { post } = await buildApp(t, { runnables: [runnable] })
    const response = post(`/agents/scripted/${verb}`, { input: 'x'.repeat(500_000) })
    const { signal } = await started
    await pause(1_000)
    t.equal(signal.aborted, false)
    goOn()
    t.match(await (await response).text(), /"finishReason":"stop"/)
    t.equal(signal.aborted, false)
  })
}

t.test('a watcher leaves nothing behind', async (t) => {
  const { runnable, started, goOn } = worker()
  const app = await buildApp(t, { runnables: [runnable] })
  const run = await app.runs.start(runnable, 'x')
  const { signal } = await started
  const watcher = new AbortController()
  const response = await fetch(`${app.url}/runs/${run.runId}/stream`, { signal: watcher.signal })
  const other = readParts(await app.get(`/runs/${run.runId}/stream`))
  await response.body?.getReader().read()
  watcher.abort()
  await pause(100)
  t.equal(signal.aborted, false)
  goOn()
  t.equal((await run.result()).text, 'one two')
  t.equal((await other).length, 4)
})

for (const verb of ['run', 'stream']) {
  t.test(`${verb}: a client that leaves while its run is being stored`, async (t) => {
    const { runnable, started } = worker()
    const client = new AbortController()
    let followers = 0
    const app = await buildApp(t, {
      runnables: [runnable],
      before: (fastify) =>
        fastify.addHook('onReady', async () => {
          const { runs } = fastify
          const { start } = runs
          runs.start = async (...args) => {
            const run = await start.apply(runs, args)
            client.abort()
            await pause(100)
            return run
          }
          const { follow } = runs.stores.log
          runs.stores.log.follow = (...args) => {
            const unfollow = follow.apply(runs.stores.log, args)
            followers++
            return () => {
              followers--
              unfollow()
            }
          }
        })
    })
    await app.post(`/agents/scripted/${verb}`, { input: 'x' }, {}, client.signal).catch(() => {})
    const { signal } = await started
    if (!signal.aborted) await once(signal, 'abort')
    t.match(signal.reason, { code: 'RUN_ERR_CANCELED' })
    await pause(50)
    t.equal(followers, 0, 'nobody reads on')
  })
}
