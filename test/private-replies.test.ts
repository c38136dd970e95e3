import type { Credentials } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { registerEverySurface } from './helpers/every-surface.ts'

const KEY = 'sk-canary-0123456789abcdef'
const TOKEN = 'token-canary-0123456789'
const JSON_TYPE = { 'content-type': 'application/json' }
const message = { role: 'user', messageId: 'm', kind: 'message', parts: [{ kind: 'text', text: 'Hi' }] }
const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params })

/** A request of every wire that replies with JSON of the caller's. */
const REQUESTS: Record<string, { method?: 'GET'; url: string; body?: object }> = {
  'HTTP: a run': { url: '/api/agents/echo/run', body: { input: 'Hi' } },
  'HTTP: a list': { method: 'GET', url: '/api/runs' },
  'UI: a chat': { method: 'GET', url: '/chat/echo/c' },
  Responses: { url: '/v1/responses', body: { model: 'echo', input: 'Hi' } },
  Chat: { url: '/v1/chat/completions', body: { model: 'echo', messages: [{ role: 'user', content: 'Hi' }] } },
  'Agents API: a refusal': { method: 'GET', url: '/v1/agents/sessions' },
  'OpenAI: the models': { method: 'GET', url: '/v1/models' },
  'AG-UI: a refusal': { url: '/ag-ui/none', body: {} },
  'Managed Agents: a refusal': { method: 'GET', url: '/managed/v1/sessions/none' },
  MCP: { url: '/mcp', body: rpc('tools/list') },
  A2A: { url: '/a2a', body: rpc('message/send', { message }) },
  Realtime: { url: '/v1/realtime/client_secrets', body: { session: { model: 'voice' } } }
}

/** An app with every wire over HTTP, and its log. */
async function build(
  t: { teardown(fn: () => unknown): unknown },
  authenticate: (given: Credentials) => never | null
) {
  const lines: string[] = []
  const app = Fastify({
    logger: { level: 'trace', stream: { write: (line: string) => void lines.push(line) } }
  })
  t.teardown(() => app.close())
  await registerEverySurface(app, { authenticate: authenticate as never }, [{ type: 'text', text: 'Hello' }])
  const ask = ({ method, url, body }: (typeof REQUESTS)[string], headers: Record<string, string> = {}) =>
    app.inject({
      method: method ?? 'POST',
      url,
      headers: { ...(body && JSON_TYPE), accept: 'application/json, text/event-stream', ...headers },
      ...(body && { payload: body })
    })
  return { ask, lines }
}

t.test('no cache keeps private JSON, and no browser takes it for anything else', async (t) => {
  const { ask } = await build(t, () => ({ sub: 'ann', scopes: [] }) as never)
  for (const [name, request] of Object.entries(REQUESTS)) {
    const { headers } = await ask(request)
    t.match(headers['content-type'], /json|event-stream/, name)
    t.match(headers['cache-control'], /no-store/, name)
    t.equal(headers['x-content-type-options'], 'nosniff', name)
  }
  const card = await ask({ method: 'GET', url: '/.well-known/agent-card.json' })
  t.notMatch(card.headers['cache-control'], /no-store/, 'what is for everyone may be kept')
})

t.test('secrets of a request in an error of the app are in no log line', async (t) => {
  const { ask, lines } = await build(t, ({ headers }) => {
    const error = new Error(`directory down for ${JSON.stringify(headers)}`, {
      cause: new Error(`tried ${String(headers['x-api-key'])} and ${String(headers.authorization)}`)
    })
    throw Object.assign(error, { statusCode: 503 })
  })
  for (const [name, request] of Object.entries(REQUESTS)) {
    lines.length = 0
    const { statusCode, body } = await ask(request, { authorization: `Bearer ${TOKEN}`, 'x-api-key': KEY })
    t.ok(statusCode >= 500, name)
    const log = lines.join('')
    t.match(log, /directory down for/, name)
    for (const secret of [KEY, TOKEN]) t.notOk(`${log}${body}`.includes(secret), `${name}: ${secret}`)
  }
})
