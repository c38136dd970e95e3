import { setTimeout as pause } from 'node:timers/promises'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import store from '@svc/store'
import { startPostgres, type Postgres } from '@tools/postgres'
import Fastify, { type LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'

// Milliseconds that the start of a run waits for a server that went away.
const OUTAGE = 3_000
const server = await startPostgres().catch((err: Error) => err)

/** Starts a service on the server. */
async function serve(t: Test, { url }: Postgres) {
  const registry = createRegistry()
  registry.add(scriptedRunnable([{ type: 'text', text: 'hello' }], { name: 'quick' }))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(store, { url, outage: OUTAGE })
  await app.register(registryPlugin, { registry })
  await app.register(http, { prefix: '/api' })
  await app.ready()
  const run = () => app.inject({ method: 'POST', url: '/api/agents/quick/run', payload: { input: 'x' } })
  const isReady = async () => (await app.inject('/api/readyz')).statusCode === 200
  return {
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
})
