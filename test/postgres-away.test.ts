import { setTimeout as pause } from 'node:timers/promises'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import store, { type StoreOptions } from '@svc/store'
import { startPostgres, type Postgres } from '@tools/postgres'
import Fastify, { type LightMyRequestResponse } from 'fastify'
import { Client } from 'pg'
import t, { type Test } from 'tap'

// Milliseconds that the start of a run waits for a server that went away.
const OUTAGE = 3_000
// A lease that ends soon.
const SHORT = { lease: { ttl: 3_000, beat: 300 } }
const server = await startPostgres().catch((err: Error) => err)

/** Starts a service on the server, with an agent that answers at once, and one that waits for `goOn`. */
async function serve(t: Test, { url }: Postgres, options: StoreOptions = { outage: OUTAGE }) {
  const gate = Promise.withResolvers<void>()
  const registry = createRegistry()
  registry.add(scriptedRunnable([{ type: 'text', text: 'hello' }], { name: 'quick' }))
  registry.add(
    scriptedRunnable([{ type: 'text', text: 'hel' }, () => gate.promise, { type: 'text', text: 'lo' }], {
      name: 'slow'
    })
  )
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(store, { url, ...options })
  await app.register(registryPlugin, { registry })
  await app.register(http, { prefix: '/api' })
  await app.ready()
  const run = () => app.inject({ method: 'POST', url: '/api/agents/quick/run', payload: { input: 'x' } })
  const isReady = async () => (await app.inject('/api/readyz')).statusCode === 200
  return {
    app,
    slow: registry.get('agent', 'slow')!,
    goOn: () => gate.resolve(),
    run,
    isReady,
    async untilReady() {
      while (!(await isReady())) await pause(50)
    }
  }
}

function requireRefused(t: Test, refused: LightMyRequestResponse): void {
  t.match(refused.json(), { statusCode: 503, code: /^RUN_ERR_(?:STORE|NO_LEASE)$/ })
  t.ok(refused.headers['retry-after'])
  t.notMatch(refused.body, 'ECONNREFUSED')
}

t.test('services', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  t.teardown(() => server.stop())

  await t.test(
    'a service that starts without its database is not ready, and works once it answers',
    async (t) => {
      await server.pause('fast')
      const { run, isReady, untilReady } = await serve(t, server)
      t.equal(await isReady(), false)
      requireRefused(t, await run())
      await server.resume()
      await untilReady()
      t.match((await run()).json(), { text: 'hello' })
    }
  )
  await t.test(
    'a server that goes away later: requests are refused, and those of a restart wait',
    async (t) => {
      const { run, isReady, untilReady } = await serve(t, server)
      await server.pause('immediate')
      requireRefused(t, await run())
      t.equal(await isReady(), false)
      await server.resume()
      await untilReady()
      t.match((await run()).json(), { text: 'hello' })
      const [waiting] = await Promise.all([pause(50).then(run), server.restart('immediate')])
      t.match(waiting.json(), { text: 'hello' }, waiting.body)
    }
  )

  await t.test('a server that is read-only for a while refuses starts, and loses no run', async (t) => {
    const admin = new Client(server.url)
    await admin.connect()
    t.teardown(() => admin.end())
    await admin.query('set default_transaction_read_only = off')
    const setReadOnly = async (to: 'on' | 'off') => {
      await admin.query(`alter system set default_transaction_read_only = ${to}`)
      await admin.query('select pg_reload_conf()')
    }
    const nodes = [await serve(t, server, SHORT), await serve(t, server, SHORT)]
    const runs = await Promise.all(
      nodes.map(({ app, slow }) => app.runs.start(slow, 'x', { onDisconnect: 'continue' }))
    )
    for (const run of runs) for await (const { type } of run.parts()) if (type === 'text') break
    await setReadOnly('on')
    const isHeld = () => nodes.some(({ app }) => app.runs.stores.lease!.held)
    while (isHeld()) await pause(50)
    for (const [index, { app, run, isReady, goOn }] of nodes.entries()) {
      requireRefused(t, await run())
      t.equal(await isReady(), false)
      t.match(
        (await app.inject(`/api/runs/${runs[1 - index]!.runId}`)).json(),
        { status: 'working' },
        'reads go on'
      )
      goOn()
    }
    await setReadOnly('off')
    for (const { untilReady } of nodes) await untilReady()
    for (const run of runs) t.match(await run.result(), { text: 'hello', finishReason: 'stop' })
    for (const { run } of nodes) t.match((await run()).json(), { text: 'hello' })
  })
})
