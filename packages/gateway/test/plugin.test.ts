import { execFile } from 'node:child_process'
import dns from 'node:dns'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import gateway, {
  type ClientToServerEvents,
  type GatewayOptions,
  type ServerToClientEvents
} from '@svc/gateway'
import registry, { createRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify, { type FastifyInstance } from 'fastify'
import { resolveLimits } from '../src/options.ts'
import { Server } from 'socket.io'
import { io, type Socket } from 'socket.io-client'
import t from 'tap'
import { buildGateway, echo, Inbox, textOf, untilDisconnected } from './helpers/build-gateway.ts'
import { RawClient } from './helpers/raw-client.ts'

const run = { name: 'echo', input: 'Hi' }

t.test('the plugin adds a run engine, or shares the existing one', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(gateway)
  t.type(app.runs.start, 'function')

  const other = Fastify()
  t.teardown(() => other.close())
  await other.register(registry)
  const { runs } = other
  await other.register(gateway)
  t.equal(other.runs, runs)
})

t.test('an unknown or invalid option is named', async (t) => {
  const io = new Server()
  const recovering = new Server({ connectionStateRecovery: {} })
  const bad: [options: object, says: RegExp][] = [
    [{ agent: [] }, /agent: no such option$/],
    [{ namespace: 'x' }, /namespace/],
    [{ path: 'x' }, /path/],
    [{ authenticate: 'jwt' }, /authenticate/],
    [{ limits: { runs: 0 } }, /limits\/runs/],
    [{ limits: { other: 1 } }, /limits\/other/],
    [{ limits: { handshake: 0 } }, /limits\/handshake/],
    [{ limits: { waiting: 1.5 } }, /limits\/waiting/],
    [{ reconnectGrace: -1 }, /reconnectGrace/],
    [{ middleware: [5] }, /middleware\/0: expected a function, got an integer$/],
    [{ onDisconnect: 'stop' }, /onDisconnect: expected 'cancel' or 'continue', got another string$/],
    [{ registry: true }, /registry: expected false or an object with get and list, got a boolean$/],
    [{ asyncApi: { page: '/x' } }, /: asyncApi\/page: no such option$/],
    [{ cors: { orgin: ['https://a.example'] } }, /cors\/orgin\b/],
    [{ cors: { methods: ['GET'] } }, /cors\/origin\b/],
    [{ cors: { origin: /x/, credentials: 'true' } }, /cors\/credentials\b/],
    [{ agents: [{ kind: 'team', name: 'x', run: () => '' }] }, /agents: "x" is of kind team/],
    [{ transports: ['webtransport'] }, /transports\/0/],
    [{ transports: [] }, /transports/],
    [{ io, path: '/x' }, /path: set it on the server/],
    [{ io, transports: ['websocket'] }, /transports: set it on the server/],
    [{ io, cors: true }, /cors: set it on the server/],
    [{ io: {} }, /io: .*Server/],
    [{ io: io.of('/') }, /io: .*Server/],
    [{ io: recovering }, /connectionStateRecovery/]
  ]
  for (const [options, says] of bad) {
    const app = Fastify()
    t.teardown(() => app.close())
    const registering = registerOn(app, options)
    await t.rejects(registering, { code: 'GTW_ERR_BAD_OPTION', message: says })
  }
})

async function registerOn(app: FastifyInstance, options: object): Promise<void> {
  await app.register(gateway, options as GatewayOptions)
}

t.test('every CORS option of Socket.IO is accepted', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const lists = { methods: ['GET'], allowedHeaders: 'x-a', exposedHeaders: ['x-b'] }
  const cors = { ...lists, origin: [/x/], credentials: true, maxAge: 1, preflightContinue: false }
  await t.resolves(registerOn(app, { cors: { ...cors, optionsSuccessStatus: 200 } }))
})

t.test('named runnables take precedence; registry: false exposes only them', async (t) => {
  const shout = scriptedRunnable([{ type: 'text', text: 'HI' }], { name: 'echo' })
  const { connect, registry: shared } = await buildGateway(t, {
    options: { agents: { echo: shout }, registry: false }
  })
  shared.add(scriptedRunnable([], { name: 'other' }))
  const client = await connect()
  const inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', run)) as { runId: string }
  t.equal(textOf(await inbox.untilEnd(runId)), 'HI')
  t.match(await client.emitWithAck('agent.run', { ...run, name: 'other' }), {
    code: 'GTW_ERR_UNKNOWN_RUNNABLE'
  })
})

t.test('runnables added after the start can run until removed', async (t) => {
  const { connect, registry: shared } = await buildGateway(t)
  const client = await connect()
  t.match(await client.emitWithAck('agent.run', run), { error: 'No agent "echo"' })
  shared.add(echo)
  t.match(await client.emitWithAck('agent.run', run), { runId: /./ })
})

t.test('middleware runs after authentication; a throw refuses without ending the process', async (t) => {
  const seen: unknown[] = []
  const { connect } = await buildGateway(t, {
    options: {
      authenticate: () => ({ sub: 'ann', scopes: [] }),
      middleware: [
        (socket, next) => {
          seen.push(socket.data.principal.sub)
          next()
        },
        (socket, next) => {
          const { how } = socket.handshake.auth
          if (how === 'throw') throw new Error('inside')
          next(how === 'next' ? new Error('not you') : undefined)
        },
        async (socket, next) => {
          await wait(1)
          if (socket.handshake.auth['how'] === 'reject') throw new Error('inside')
          next()
        }
      ]
    }
  })
  await connect()
  t.strictSame(seen, ['ann'])
  const failed = { message: 'Internal Server Error', data: { code: 'GTW_ERR_INTERNAL' } } as object as Error
  await t.rejects(connect({ auth: { how: 'throw' } }), failed)
  await t.rejects(connect({ auth: { how: 'reject' } }), failed)
  await t.rejects(connect({ auth: { how: 'next' } }), { message: 'not you' })
})

t.test('an app may have its own server, namespaces, and events on the gateway’s namespace', async (t) => {
  const { app, connect, origin } = await buildGateway(t, {
    runnables: [echo],
    options: { namespace: '/agents' },
    before: (app) =>
      void app.addHook('onReady', async () => void app.io.of('/agents').on('connection', listen))
  })
  function listen(socket: {
    on(name: string, listener: (value: string, ack: (value: string) => void) => void): void
  }) {
    socket.on('ping me', (value, ack) => ack(value))
  }
  app.io.on('connection', (socket) => socket.emit('hello', 'there'))
  const own = io(origin, { forceNew: true })
  t.teardown(() => own.disconnect())
  t.strictSame(await new Promise((resolve) => own.on('hello', resolve)), 'there')

  const client = await connect()
  t.match(await client.emitWithAck('agent.run', run), { runId: /./ })
  t.equal(await (client as never as Socket).emitWithAck('ping me', 'x'), 'x')
})

t.test('two gateways on one server', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(gateway, { namespace: '/a', registry: false, agents: [echo] })
  await app.register(gateway, { namespace: '/b', registry: false, io: app.io })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  for (const [namespace, answer] of [
    ['/a', { runId: /./ }],
    ['/b', { code: 'GTW_ERR_UNKNOWN_RUNNABLE' }]
  ] as const) {
    const client: Socket<ServerToClientEvents, ClientToServerEvents> = io(origin + namespace, {
      forceNew: true
    })
    t.teardown(() => client.disconnect())
    t.match(await client.emitWithAck('agent.run', run), answer)
  }
})

t.test('both addresses of localhost are served, over both transports', async (t) => {
  // As a machine answers that has two.
  const { lookup } = dns
  const both = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 }
  ]
  t.teardown(() => void (dns.lookup = lookup))
  dns.lookup = ((host: string, options: { all?: boolean }, done: (err: null, found: unknown) => void) =>
    host === 'localhost' ? done(null, both) : lookup(host, options as object, done as never)) as typeof lookup
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(registry, { registry: createRegistry() })
  await app.register(gateway, { agents: [echo] })
  await app.listen({ port: 0, host: 'localhost' })
  t.equal(app.addresses().length, 2)
  for (const { address, family, port } of app.addresses() as AddressInfo[])
    for (const transport of ['websocket', 'polling']) {
      const host = family === 'IPv6' ? `[${address}]` : address
      const client: Socket<ServerToClientEvents, ClientToServerEvents> = io(`http://${host}:${port}`, {
        transports: [transport],
        forceNew: true,
        reconnection: false
      })
      t.teardown(() => client.disconnect())
      client.once('connect_error', (err) => t.fail(`${host} ${transport}: ${err.message}`))
      t.match(
        await client.timeout(2_000).emitWithAck('agent.run', run),
        { runId: /./ },
        `${host} ${transport}`
      )
    }
})

t.test('closing: active runs end, their sockets get the events, then all are disconnected', async (t) => {
  const finishing = scriptedRunnable(
    [{ type: 'text', text: 'begun' }, 150, { type: 'text', text: ' done' }],
    {
      name: 'finishing'
    }
  )
  const endless = scriptedRunnable([{ type: 'text', text: 'begun' }, 60_000], { name: 'endless' })
  const { app, connect } = await buildGateway(t, {
    runnables: [finishing, endless],
    engine: { drainTimeout: 400 }
  })
  const [client, idle] = [await connect(), await connect({ transports: ['polling'] })]
  const inbox = new Inbox(client)
  const start = (name: string) =>
    client.emitWithAck('agent.run', { name, input: 'Go' }) as Promise<{ runId: string }>
  const [first, second] = [await start('finishing'), await start('endless')]
  const gone = Promise.all([untilDisconnected(client), untilDisconnected(idle)])
  const closing = app.close()
  await wait(50)
  t.match(await client.emitWithAck('agent.run', { name: 'endless', input: 'Go' }), {
    code: 'RUN_ERR_DRAINING'
  })
  await closing
  t.strictSame(await gone, ['io server disconnect', 'io server disconnect'])
  t.equal(textOf(inbox.of(first.runId)), 'begun done')
  t.match(inbox.of(first.runId).at(-1), { event: 'agent.done' })
  t.match(inbox.of(second.runId).at(-1), { event: 'agent.error', code: 'RUN_ERR_INTERRUPTED' })
})

t.test('a client that stops polling does not keep a closed process alive', async (t) => {
  const program = `
    import Fastify from 'fastify'
    import gateway from '@svc/gateway'
    const app = Fastify()
    await app.register(gateway)
    const url = await app.listen({ port: 0, host: '127.0.0.1' }) + '/socket.io/?EIO=4&transport=polling'
    const opened = await (await fetch(url)).text()
    const session = url + '&sid=' + JSON.parse(opened.slice(1)).sid
    await fetch(session, { method: 'POST', body: '40' })
    await (await fetch(session)).text()
    app.server.once('request', () => setImmediate(() => app.close()))
    console.log(await (await fetch(session)).text())
  `
  const { NODE_OPTIONS: _hooks, ...env } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=@svc/source', '--input-type=module', '--eval', program],
    { cwd: import.meta.dirname, env, timeout: 20_000 }
  )
  t.equal(stdout, '41\n')
})

t.test('closing does not wait for unresponsive or unadmitted clients', async (t) => {
  const talkative = scriptedRunnable(
    Array.from({ length: 2_000 }, () => ({ type: 'text', text: 'x'.repeat(10_000) }) as const),
    { name: 'talkative' }
  )
  const { app, origin } = await buildGateway(t, { runnables: [talkative] })
  const deaf = await RawClient.connect(origin)
  deaf.ws.pause()
  deaf.send('420["agent.run",{"name":"talkative","input":"Go"}]')
  const outside = new RawClient(origin)
  await once(outside.ws, 'open')
  outside.ws.pause()
  await wait(300)
  const before = performance.now()
  await app.close()
  const took = performance.now() - before
  t.ok(took < 4_000, `${Math.round(took)} ms`)
  deaf.end()
  outside.end()
})

t.test('limits may be inherited: a getter of a class counts', (t) => {
  class Limits {
    runs = 4
    get payload() {
      return 2000
    }
  }
  t.match(resolveLimits(new Limits()), { runs: 4, payload: 2000, eventsPerSecond: 50 })
  t.end()
})
