import { ANONYMOUS, expose } from '@svc/registry'
import { createJwtAuthenticate } from '@svc/http'
import type { GatewayAuthenticate, GatewayOptions } from '@svc/gateway'
import { WebSocket } from 'ws'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { readHandshake } from '../../src/sockets/authenticate-socket.ts'
import { buildGateway, echo, Inbox, untilDisconnected } from '../helpers/build-gateway.ts'
import { SECRET, signToken } from '../helpers/sign-token.ts'

const authenticate = await createJwtAuthenticate({ secret: SECRET })
const token = signToken({ scopes: ['agents:run'] })
// Engine.IO’s, whatever the reason.
const REFUSED = 400
const run = { name: 'echo', input: 'Hi' }
const refused = (code: string) => ({ data: { code } }) as object as Error

t.test('a token in auth, the header or the cookie, over both transports', async (t) => {
  const { connect, runs } = await buildGateway(t, { runnables: [echo], options: { authenticate } })
  const places = [
    { auth: { token } },
    { extraHeaders: { authorization: `Bearer ${token}` } },
    { extraHeaders: { cookie: `a=b; token=${token}` } },
    { auth: { token }, extraHeaders: { authorization: 'Bearer bad' } }
  ]
  for (const transport of ['websocket', 'polling'])
    for (const place of places) {
      const client = await connect({ transports: [transport], ...place })
      const { runId } = (await client.emitWithAck('agent.run', run)) as { runId: string }
      t.match(await runs.get(runId), { owner: 'ann' })
      client.disconnect()
    }
})

t.test('no token, an invalid one, an expired one, one in the query', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [echo], options: { authenticate } })
  const cases: [options: object, code: string][] = [
    [{}, 'GTW_ERR_NO_TOKEN'],
    [{ query: { token } }, 'GTW_ERR_NO_TOKEN'],
    [{ auth: { token: `${token}x` } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ auth: { token: '' } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ auth: { token: 5 } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ auth: { token: { a: 1 } } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ auth: { token: signToken({}, -1) } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ extraHeaders: { authorization: 'Bearer' } }, 'GTW_ERR_INVALID_TOKEN'],
    [{ extraHeaders: { authorization: 'Basic YTpi' } }, 'GTW_ERR_NO_TOKEN']
  ]
  for (const [options, code] of cases)
    await t.rejects(connect(options), refused(code), JSON.stringify(options))
})

t.test('a custom function: its arguments, its refusals, its outages', async (t) => {
  const seen: unknown[] = []
  const own: GatewayAuthenticate = async (credentials) => {
    seen.push(credentials)
    if (credentials.token === 'bad') throw new Error('it says why')
    if (credentials.token === 'away')
      throw expose({ code: 'HTTP_ERR_KEYS_UNAVAILABLE', message: 'no keys', statusCode: 503 })
    return credentials.token === 'good' ? { sub: 'bob', scopes: [] } : null
  }
  const { connect } = await buildGateway(t, { options: { authenticate: own, cookieName: 'sid' } })
  await connect({ auth: { token: 'good' }, query: { secret: 'q' }, extraHeaders: { cookie: 'c=1; sid=2' } })
  t.match(seen, [
    { token: 'good', url: '/socket.io/', cookies: {}, headers: { host: /./, cookie: undefined } }
  ])
  await t.rejects(connect({ auth: { token: 'bad' } }), refused('GTW_ERR_INVALID_TOKEN'))
  await t.rejects(connect({ auth: { token: 'away' } }), refused('HTTP_ERR_KEYS_UNAVAILABLE'))
  await t.rejects(connect(), refused('GTW_ERR_NO_TOKEN'))
})

t.test('without authentication everyone is anonymous', async (t) => {
  const { connect, runs } = await buildGateway(t, { runnables: [echo] })
  const client = await connect({ auth: { token: 'any' } })
  const { runId } = (await client.emitWithAck('agent.run', { ...run, userId: 'x' })) as { runId: string }
  t.match(await runs.get(runId), { owner: ANONYMOUS.sub })
})

t.test('a socket is disconnected when its token expires', async (t) => {
  const expiring: GatewayOptions['authenticate'] = () => ({
    sub: 'ann',
    scopes: [],
    exp: Date.now() / 1000 + 0.2
  })
  const { connect } = await buildGateway(t, { runnables: [echo], options: { authenticate: expiring } })
  const [active, idle] = [await connect(), await connect()]
  const inbox = new Inbox(idle)
  t.match(await active.emitWithAck('agent.run', run), { runId: /./ })
  await wait(250)
  const ended = untilDisconnected(active)
  t.match(await active.emitWithAck('agent.run', run), { code: 'GTW_ERR_TOKEN_EXPIRED' }, 'at its next event')
  await ended
  await untilDisconnected(idle)
  t.match(inbox.all, [{ event: 'gateway.error', code: 'GTW_ERR_TOKEN_EXPIRED' }], 'or without one')
})

t.test('with cookies, other origins are refused unless they are named', async (t) => {
  const { origin } = await buildGateway(t, {
    options: { authenticate, cors: { origin: ['https://app.example', /\.friends\.example$/] } }
  })
  const handshake = async (headers: Record<string, string>) => {
    const ws = new WebSocket(`${origin.replace('http', 'ws')}/socket.io/?EIO=4&transport=websocket`, {
      headers
    })
    const failed = once(ws, 'unexpected-response').then(([, { statusCode }]) => statusCode as number)
    const status = await Promise.race([once(ws, 'open').then(() => 101), failed])
    ws.on('error', () => {}).terminate()
    const polled = await fetch(`${origin}/socket.io/?EIO=4&transport=polling`, { headers })
    t.equal(polled.status, status === 101 ? 200 : 403, 'the same when polling')
    return status
  }
  const cookie = `token=${token}`
  t.equal(await handshake({ cookie, origin: 'https://evil.example' }), REFUSED)
  t.equal(await handshake({ cookie, origin: 'null' }), REFUSED)
  t.equal(await handshake({ cookie, origin: 'https://app.example.evil.example' }), REFUSED)
  t.equal(await handshake({ cookie, 'sec-fetch-site': 'cross-site' }), REFUSED)
  t.equal(await handshake({ cookie, origin }), 101, 'its own')
  t.equal(await handshake({ cookie }), 101, 'no browser')
  t.equal(await handshake({ cookie, origin: 'https://app.example' }), 101, 'named')
  t.equal(await handshake({ cookie, origin: 'https://a.friends.example' }), 101, 'named by a pattern')
  t.equal(await handshake({ origin: 'https://evil.example' }), 101, 'no cookie')
})

t.test('the origin is checked on the app’s own server too', async (t) => {
  const { app, connect } = await buildGateway(t, {
    options: { authenticate, namespace: '/own' },
    before: async (app) => {
      const { default: fastifySocketIo } = await import('fastify-socket.io')
      await app.register(fastifySocketIo.default)
    }
  })
  t.ok(app.io)
  const extraHeaders = { cookie: `token=${token}`, origin: 'https://evil.example' }
  await t.rejects(connect({ extraHeaders }), refused('GTW_ERR_CROSS_ORIGIN'))
  await t.rejects(connect({ auth: { token }, extraHeaders }), refused('GTW_ERR_CROSS_ORIGIN'))
  await connect({ auth: { token }, extraHeaders: { origin: 'https://evil.example' } })
})

t.test('readHandshake: auth before header before cookie', async (t) => {
  const from = (auth: object, headers: object) =>
    readHandshake({ auth, headers, url: '/socket.io/?token=q' } as never, 'token')
  const headers = { authorization: 'Bearer h', cookie: 'token=c' }
  t.match(from({ token: 'a' }, headers), { token: 'a', url: '/socket.io/' })
  t.match(from({}, headers), { token: 'h' })
  t.match(from({ token: null }, { cookie: 'token=c' }), { token: 'c', cookies: { token: 'c' } })
  t.notOk('token' in from({}, {}))
})
