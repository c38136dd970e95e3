import { createHmac } from 'node:crypto'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import gateway, { generateAsyncApi } from '@svc/gateway'
import http, { createJwtAuthenticate } from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import registryPlugin, { createRegistry } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import Fastify from 'fastify'
import { io } from 'socket.io-client'
import t from 'tap'

const secret = 'a secret that is long enough to be one'
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const payload = `${encode({ alg: 'HS256' })}.${encode({ sub: 'ann', scopes: ['*'], exp: Math.floor(Date.now() / 1_000) + 3_600 })}`
const token = `${payload}.${createHmac('sha256', secret).update(payload).digest('base64url')}`
const authenticate = await createJwtAuthenticate({ secret, extractFrom: 'cookie', cookieName: 'session' })
const cookie = `session=${token}`
const authorization = `Bearer ${token}`

/** Revisions of APIs in beta. */
const BETAS = { 'openai-beta': 'agents=v1', 'anthropic-beta': 'managed-agents-2026-04-01' }

const echo = { kind: 'agent', name: 'echo', run: (input: unknown) => String(input) } as const

t.test('an authenticate that reads a cookie takes it on every surface, and no header', async (t) => {
  const registry = createRegistry()
  registry.add(echo)
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(registryPlugin, { registry, authenticate })
  await app.register(http, { prefix: '/api', swagger: true })
  await app.register(openAi, { prefix: '/v1' })
  await app.register(openAiAgents, { prefix: '/v1' })
  await app.register(anthropic, { prefix: '/managed' })
  await app.register(uiStream, { prefix: '/ui' })
  await app.register(agUi, { prefix: '/agui' })
  await app.register(mcp, { prefix: '/tools' })
  await app.register(gateway, { cookieName: 'session' })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })

  const message = { role: 'user', content: 'x', id: 'm' }
  const ways: Record<string, object> = {
    '/api/agents/echo/run': { input: 'x' },
    '/v1/responses': { model: 'echo', input: 'x' },
    '/v1/chat/completions': { model: 'echo', messages: [{ role: 'user', content: 'x' }] },
    '/v1/agents/sessions': { agent_id: 'echo', environment: { type: 'none' }, input: 'x' },
    '/managed/v1/sessions': { agent: 'echo', environment_id: 'env_service' },
    '/ui/chat/echo': { id: 'c', messages: [{ ...message, parts: [{ type: 'text', text: 'x' }] }] },
    '/agui/ag-ui/echo': { threadId: 't', runId: 'r', messages: [message] },
    '/tools/mcp': { jsonrpc: '2.0', id: 1, method: 'ping' }
  }
  for (const [path, body] of Object.entries(ways)) {
    const ask = async (headers: Record<string, string>) => {
      const accept = 'application/json, text/event-stream'
      const sent = { 'content-type': 'application/json', accept, ...BETAS, ...headers }
      const reply = await fetch(origin + path, { method: 'POST', headers: sent, body: JSON.stringify(body) })
      await reply.text()
      return reply.status
    }
    t.equal(await ask({ cookie }), 200, path)
    t.equal(await ask({ authorization }), 401, `${path}: a header`)
    t.equal(await ask({ 'x-api-key': token }), 401, `${path}: a key`)
    t.equal(await ask({ cookie, origin: 'https://evil.example' }), 403, `${path}: a page of another site`)
  }

  const document = await (await fetch(`${origin}/api/docs/json`, { headers: { cookie } })).json()
  const schemes = { cookieAuth: { type: 'apiKey', in: 'cookie', name: 'session' } }
  t.match((document as { components: object }).components, { securitySchemes: schemes })
  t.match(generateAsyncApi({ authenticate }).components, {
    securitySchemes: { cookieAuth: { type: 'httpApiKey', in: 'cookie', name: 'session' } }
  })

  const connect = async (options: object) => {
    const socket = io(origin, { transports: ['websocket'], reconnection: false, ...options })
    t.teardown(() => socket.close())
    return new Promise((resolve) => {
      socket.once('connect', () => resolve('connected')).once('connect_error', () => resolve('refused'))
    })
  }
  t.equal(await connect({ extraHeaders: { cookie } }), 'connected')
  t.equal(await connect({ extraHeaders: { authorization } }), 'refused')
  t.equal(await connect({ auth: { token } }), 'refused')
})

t.test('A2A, which ignores cookies, refuses one that reads nothing else', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close().catch(() => {}))
  const message = /authenticate: it reads a cookie/
  const refused = { code: 'A2A_ERR_BAD_OPTION', message }
  await t.rejects(async () => app.register(a2a, { authenticate, agents: [echo] }), refused)

  const both = Object.assign(authenticate.bind(undefined), {
    schemes: { ...authenticate.schemes, bearerAuth: { type: 'http', scheme: 'bearer' } }
  })
  const other = Fastify()
  t.teardown(() => other.close())
  await other.register(a2a, { authenticate: both, agents: [echo] })
  const card = (await other.inject('/.well-known/agent-card.json')).json<{ securitySchemes: object }>()
  t.strictSame(Object.keys(card.securitySchemes), ['bearerAuth'])
})
