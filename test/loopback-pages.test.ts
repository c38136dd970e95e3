import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import gateway from '@svc/gateway'
import Fastify, { type FastifyServerOptions } from 'fastify'
import { io } from 'socket.io-client'
import t from 'tap'
import { WebSocket } from 'ws'
import { registerEverySurface } from './helpers/every-surface.ts'

type Headers = Record<string, string>

/** An app with every surface and no authentication; what it answers to headers, by the surface. */
async function build(
  t: { teardown(fn: () => unknown): unknown },
  options: FastifyServerOptions = {},
  hosts?: string[]
) {
  const app = Fastify({ forceCloseConnections: true, ...options })
  t.teardown(() => app.close())
  await registerEverySurface(app, hosts && { hosts })
  await app.register(gateway)
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const send = (path: string) => async (headers: Headers) => {
    const sent = request({
      port,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers }
    })
    sent.end('{}')
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode === 403
  }
  const call = async (headers: Headers) => {
    const ws = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=voice`, { headers })
    ws.on('error', () => {})
    const refused = once(ws, 'unexpected-response').then(([, { statusCode }]) => statusCode === 403)
    const isRefused = await Promise.race([once(ws, 'message').then(() => false), refused])
    ws.terminate()
    return isRefused
  }
  const connect = async (extraHeaders: Headers) => {
    const transport = { transports: ['websocket'], forceNew: true, reconnection: false }
    const socket = io(`http://127.0.0.1:${port}`, { ...transport, extraHeaders })
    const isRefused = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(false))
      socket.once('connect_error', (err) =>
        resolve((err as { data?: { code?: string } }).data?.code === 'GTW_ERR_CROSS_ORIGIN')
      )
    })
    socket.disconnect()
    return isRefused
  }
  const surfaces: Record<string, (headers: Headers) => Promise<boolean>> = {
    HTTP: send('/api/agents/echo/run'),
    UI: send('/chat/echo'),
    OpenAI: send('/v1/responses'),
    'Agents API': send('/v1/agents/sessions'),
    'AG-UI': send('/ag-ui/echo'),
    'Managed Agents': send('/managed/v1/sessions'),
    MCP: send('/mcp'),
    A2A: send('/a2a'),
    'client secrets': send('/v1/realtime/client_secrets'),
    Realtime: call,
    sockets: connect
  }
  return { port, surfaces }
}

t.test('pages of other sites reach no open service on loopback, by whatever name', async (t) => {
  const { port, surfaces } = await build(t)
  const refused: Headers[] = [
    { host: `rebound.example:${port}` },
    { host: `rebound.example:${port}`, origin: `http://rebound.example:${port}` },
    { host: `localhost.evil.example:${port}` },
    { origin: 'https://evil.example' },
    { origin: 'null' }
  ]
  const taken: Headers[] = [
    {},
    { host: `localhost:${port}` },
    { host: `app.localhost:${port}`, origin: `http://app.localhost:${port}` },
    { host: `127.0.0.1:${port}`, origin: `http://127.0.0.1:${port}` }
  ]
  for (const [name, isRefused] of Object.entries(surfaces)) {
    for (const headers of refused)
      t.equal(await isRefused(headers), true, `${name}: ${JSON.stringify(headers)}`)
    for (const headers of taken)
      t.equal(await isRefused(headers), false, `${name}: ${JSON.stringify(headers)}`)
    // A page under development. MCP names the pages that may call it.
    if (name !== 'MCP') t.equal(await isRefused({ origin: 'http://localhost:5173' }), false, name)
  }
})

t.test('an app names its hosts, or trusts its proxy', async (t) => {
  const named = await build(t, {}, ['app.example'])
  const page = { host: 'app.example', origin: 'https://app.example' }
  for (const [name, isRefused] of Object.entries(named.surfaces)) {
    t.equal(await isRefused(page), false, `${name}: a named host`)
    t.equal(await isRefused({ host: 'rebound.example' }), true, `${name}: another`)
  }
  const behind = await build(t, { trustProxy: '127.0.0.1' })
  t.equal(await behind.surfaces['HTTP']!(page), false)
  t.equal(await behind.surfaces['Realtime']!(page), false)
})
