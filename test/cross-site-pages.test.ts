import { once } from 'node:events'
import gateway from '@svc/gateway'
import type { Credentials } from '@svc/registry'
import { io } from 'socket.io-client'
import t from 'tap'
import { WebSocket } from 'ws'
import { serve } from './helpers/serve.ts'
import { registerEverySurface } from './helpers/every-surface.ts'

const OWN = 'name=ann'
const FOREIGN = 'https://evil.example'

/** What a request was answered with: the code of a refusal, else its status. */
type Answer = Promise<string | number>
type Headers = Record<string, string>

/** Sends a request with the headers of a browser, or of another client; the token as the surface takes it. */
type Send = (headers: Headers, token?: string) => Answer

t.test('every surface refuses a foreign page that brings a cookie, whatever else it brings', async (t) => {
  const seen: Credentials[] = []
  const authenticate = (credentials: Credentials) => {
    seen.push(credentials)
    const { token, cookies } = credentials
    // As apps do that take the session of their users first.
    const name = cookies['name'] ?? token
    if (name === undefined) return null
    if (name !== 'ann') throw new Error('unknown')
    return { sub: name, scopes: [] }
  }
  const { origin } = await serve(t, async (app) => {
    await registerEverySurface(app, { authenticate })
    await app.register(gateway)
  })
  const host = new URL(origin).host

  const post =
    (path: string): Send =>
    async (headers, token) => {
      const bearer: Headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const response = await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer, ...headers },
        body: '{}'
      })
      const text = await response.text()
      return /[A-Z]+_ERR_(?:CROSS_ORIGIN|NO_TOKEN|INVALID_TOKEN|BAD_TOKEN)/.exec(text)?.[0] ?? response.status
    }
  const call =
    (place: 'header' | 'protocol'): Send =>
    async (headers, token) => {
      const inHeader = place === 'header' && token !== undefined
      const protocols =
        place === 'protocol' && token !== undefined ? ['realtime', `openai-insecure-api-key.${token}`] : []
      const bearer: Headers = inHeader ? { authorization: `Bearer ${token}` } : {}
      const ws = new WebSocket(`ws://${host}/v1/realtime?model=voice`, protocols, {
        headers: { ...bearer, ...headers }
      })
      ws.on('error', () => {})
      const first = once(ws, 'message').then(([data]) => JSON.parse(String(data)))
      const refused = once(ws, 'unexpected-response').then(async ([, response]) =>
        JSON.parse(String(await once(response, 'data')))
      )
      const answer = await Promise.race([first, refused])
      ws.terminate()
      return answer.error?.code ?? 200
    }
  const connect =
    (place: 'header' | 'auth'): Send =>
    async (headers, token) => {
      const inHeader = place === 'header' && token !== undefined
      const socket = io(origin, {
        transports: ['websocket'],
        forceNew: true,
        reconnection: false,
        extraHeaders: { ...(inHeader && { authorization: `Bearer ${token}` }), ...headers },
        ...(place === 'auth' && token !== undefined && { auth: { token } })
      })
      const answer = await new Promise<string | number>((resolve) => {
        socket.once('connect', () => resolve(200))
        // Engine.IO refuses a WebSocket without a code.
        socket.once('connect_error', (err) =>
          resolve((err as { data?: { code?: string } }).data?.code ?? 'GTW_ERR_CROSS_ORIGIN')
        )
      })
      socket.disconnect()
      return answer
    }
  const surfaces: Record<string, Send> = {
    HTTP: post('/api/agents/echo/run'),
    UI: post('/chat/echo'),
    OPENAI: post('/v1/responses'),
    'OPENAI agents': post('/v1/agents/sessions'),
    AGUI: post('/ag-ui/echo'),
    ANTHROPIC: post('/managed/v1/sessions'),
    MCP: post('/mcp'),
    'RT client secrets': post('/v1/realtime/client_secrets'),
    'RT by header': call('header'),
    'RT by subprotocol': call('protocol'),
    'GTW by header': connect('header'),
    'GTW by auth': connect('auth')
  }
  for (const [name, send] of Object.entries(surfaces)) {
    const refused = `${name.split(' ')[0]}_ERR_CROSS_ORIGIN`
    const foreign = { cookie: OWN, origin: FOREIGN }
    seen.length = 0
    t.equal(await send(foreign), refused, `${name}: a cookie`)
    t.equal(await send(foreign, 'x'), refused, `${name}: a cookie and any text as token`)
    t.equal(await send(foreign, 'ann'), refused, `${name}: a cookie and a token`)
    t.equal(await send({ ...foreign, authorization: 'Basic x' }), refused, `${name}: another scheme`)
    const site = { cookie: OWN, 'sec-fetch-site': 'cross-site' }
    t.equal(await send(site, 'x'), refused, `${name}: a browser that says so`)
    t.equal(await send({ cookie: OWN, origin: 'null' }, 'x'), refused, `${name}: a sandboxed page`)
    t.same(seen, [], `${name}: authenticate is not asked`)

    const isRefused = (answer: string | number) => /_ERR_(?:CROSS_ORIGIN|NO_TOKEN)/.test(String(answer))
    t.notOk(isRefused(await send({ cookie: OWN, origin })), `${name}: the own page`)
    t.match(seen.pop(), { cookies: { name: 'ann' } })
    t.match(
      String(await send({ cookie: OWN, origin }, 'x')),
      /TOKEN/,
      `${name}: the token counts, not the cookie`
    )
    t.match(seen.pop(), { token: 'x', cookies: {}, headers: { cookie: undefined } }, `${name}: no cookies`)
    if (name !== 'MCP') t.notOk(isRefused(await send({ origin: FOREIGN }, 'ann')), `${name}: no cookie`)
  }

  const a2aSend = post('/a2a/message:send')
  t.match(await a2aSend({ cookie: OWN, origin: FOREIGN }), /NO_TOKEN/, 'A2A ignores cookies')
})
