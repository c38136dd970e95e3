import { createServer } from 'node:http'
import { Writable } from 'node:stream'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import { createRegistry } from '@svc/registry'
import Fastify, { type FastifyPluginAsync, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'

interface Line {
  level: number
  msg: string
  requestTimeout?: number
  headersTimeout?: number
}

type ServerOptions = FastifyServerOptions & { http?: object }

const SURFACES: Record<string, FastifyPluginAsync> = { http, gateway, a2a }
const WARN = 40

/** The warnings about time-outs that an app with these surfaces logs until it is ready. */
async function warningsOf(t: Test, options: ServerOptions, ...surfaces: FastifyPluginAsync[]) {
  const lines: Line[] = []
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(line.toString()) as Line)
      done()
    }
  })
  const app = Fastify({ ...options, logger: { level: 'warn', stream } })
  t.teardown(() => app.close())
  for (const [index, surface] of surfaces.entries())
    await app.register(surface, { prefix: `/${index}`, registry: createRegistry() } as object)
  await app.ready()
  return lines.filter(({ msg }) => /timeout/i.test(msg))
}

for (const [name, surface] of Object.entries(SURFACES))
  t.test(`@svc/${name} warns about a server without time-outs, and names them`, async (t) => {
    const [warning, ...more] = await warningsOf(t, {}, surface)
    t.match(warning, {
      level: WARN,
      requestTimeout: 0,
      headersTimeout: 60_000,
      msg: /requestTimeout, http\.headersTimeout and http\.connectionsCheckingInterval/
    })
    t.strictSame(more, [])
  })

t.test('it warns once per app, however many surfaces it has', async (t) => {
  t.equal((await warningsOf(t, {}, http, http, a2a, gateway)).length, 1)
  t.equal((await warningsOf(t, {}, gateway, http)).length, 1, 'and for each app')
})

t.test('it does not warn about a server that ends slow requests', async (t) => {
  const bounded: ServerOptions[] = [
    { requestTimeout: 30_000 },
    { requestTimeout: 30_000, http: { headersTimeout: 10_000, connectionsCheckingInterval: 2_000 } },
    { serverFactory: (handler) => createServer(handler) }
  ]
  for (const options of bounded) t.strictSame(await warningsOf(t, options, http, gateway, a2a), [])
})

t.test('it also warns about headers without a time-out', async (t) => {
  const [warning] = await warningsOf(t, { http: { headersTimeout: 0 }, requestTimeout: 0 }, http)
  t.match(warning, { requestTimeout: 0, headersTimeout: 0 })
})
