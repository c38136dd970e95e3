import registryPlugin from '@svc/registry'
import mcp from '@svc/mcp'
import Fastify from 'fastify'
import t from 'tap'
import { connect, mcpApp } from '../helpers/mcp-app.ts'

const echo = { kind: 'agent' as const, name: 'echo', run: (input: unknown) => String(input) }
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body)
  })

const authenticate = ({ token }: { token?: string }) => {
  if (token === undefined) return null
  if (token === 'bad') throw new Error('unknown')
  return { sub: token, scopes: token === 'ann' ? ['tools'] : [] }
}
const authorize = ({ scopes }: { scopes: readonly string[] }) =>
  scopes.includes('tools') ? { allowed: true as const } : { allowed: false as const, missing: 'tools' }

void t.test('a caller without a token learns where to get one', async (t) => {
  const { url, origin } = await mcpApp(t, {
    runnables: [echo],
    options: { prefix: '/api', authorizationServers: ['https://auth.example.com'], scopes: ['tools'] },
    engine: { authenticate, authorize }
  })
  const metadata = `${origin}/.well-known/oauth-protected-resource/api/mcp`
  const refused = await post(url, LIST)
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('www-authenticate'), `Bearer resource_metadata="${metadata}"`)
  t.match(await refused.json(), { jsonrpc: '2.0', id: null, error: { data: { code: 'MCP_ERR_NO_TOKEN' } } })
  const invalid = await post(url, LIST, { authorization: 'Bearer bad' })
  t.match(
    [invalid.status, invalid.headers.get('www-authenticate')],
    [401, `Bearer error="invalid_token", resource_metadata="${metadata}"`]
  )
  t.match(await (await fetch(metadata)).json(), {
    resource: url,
    authorization_servers: ['https://auth.example.com'],
    scopes_supported: ['tools'],
    bearer_methods_supported: ['header']
  })

  const call = { ...LIST, method: 'tools/call', params: { name: 'echo', arguments: { message: 'x' } } }
  const lacking = await post(url, call, { authorization: 'Bearer bob' })
  t.equal(lacking.status, 403)
  t.match(
    lacking.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="tools", resource_metadata="${metadata}"`
  )
  const client = await connect(t, url, { token: 'ann' })
  t.match((await client.callTool({ name: 'echo', arguments: { message: 'x' } })).content, [{ text: 'x' }])
})

void t.test('broken requests have an error of JSON-RPC and a status under 500', async (t) => {
  const { url } = await mcpApp(t, { runnables: [echo], options: { bodyLimit: 4_096, jsonDepth: 10 } })
  const modern = { 'mcp-protocol-version': '2026-07-28' }
  const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":${'['.repeat(20)}${']'.repeat(20)}}`
  const cases: [
    name: string,
    body: unknown,
    headers: Record<string, string>,
    status: number,
    code: number
  ][] = [
    ['no body', '', {}, 400, -32700],
    ['no JSON', '{', {}, 400, -32700],
    ['too deep', deep, {}, 400, -32700],
    ['a text', '"x"', {}, 400, -32600],
    ['an empty batch', [], {}, 400, -32600],
    ['not JSON-RPC', {}, {}, 400, -32600],
    ['too large', { ...LIST, params: { x: 'x'.repeat(5_000) } }, {}, 413, -32602],
    ['another media type', LIST, { 'content-type': 'text/plain' }, 415, -32602],
    ['an unknown revision', LIST, { 'mcp-protocol-version': '1999-01-01' }, 400, 0],
    ['a header that differs', LIST, { ...modern, 'mcp-method': 'tools/call' }, 400, 0],
    ['an unknown input', { jsonrpc: '2.0', id: 'input:x', result: { action: 'accept' } }, {}, 404, -32602]
  ]
  for (const [name, body, headers, status, code] of cases) {
    const response = await post(url, body, headers)
    t.equal(response.status, status, name)
    const { error } = (await response.json()) as { error?: { code: number } }
    t.type(error?.code, 'number', `${name}: an error`)
    if (code !== 0) t.equal(error?.code, code, `${name}: its code`)
  }
  const foreign = await post(url, LIST, { 'mcp-session-id': 'of somebody else.e' })
  t.equal(foreign.status, 200, 'the id of a session grants nothing, and is none of this server')
  for (const method of ['GET', 'DELETE']) t.equal((await fetch(url, { method })).status, 405, method)
})

void t.test('the endpoint is described in OpenAPI, without a token', async (t) => {
  const { origin } = await mcpApp(t, {
    options: { prefix: '/api', title: 'Agents' },
    engine: {
      authenticate: Object.assign(authenticate, { schemes: { bearer: { type: 'http', scheme: 'bearer' } } })
    }
  })
  const response = await fetch(`${origin}/api/mcp/openapi.json`)
  t.match(await response.json(), {
    openapi: '3.0.3',
    info: { title: 'Agents' },
    security: [{ bearer: [] }],
    paths: {
      '/api/mcp': { post: { operationId: 'sendMcpMessage', responses: { 200: {}, 202: {}, '4XX': {} } } }
    },
    components: { schemas: { McpMessage: {}, McpError: {} } }
  })
})

void t.test('the endpoint has a slash at its end or not', async (t) => {
  const { url, origin } = await mcpApp(t, {
    runnables: [echo],
    options: { origins: ['https://app.example.com'] }
  })
  for (const revision of ['2026-07-28', '2025-11-25'] as const) {
    const client = await connect(t, `${url}/`, { revision })
    t.match((await client.callTool({ name: 'echo', arguments: { message: 'x' } })).content, [{ text: 'x' }])
  }
  t.equal((await fetch(`${url}/`)).status, 405)
  const preflight = await fetch(`${url}/`, {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST' }
  })
  t.match([preflight.status, preflight.headers.get('access-control-allow-methods')], [204, 'POST'])
  const { paths } = (await (await fetch(`${origin}/mcp/openapi.json`)).json()) as { paths: object }
  t.same(Object.keys(paths), ['/mcp'], 'one of them is documented')

  for (const routerOptions of [{ ignoreTrailingSlash: true }, {}]) {
    const app = Fastify({ routerOptions })
    t.teardown(() => app.close())
    await app.register(registryPlugin)
    await app.register(mcp)
    const answer = await app.inject({ method: 'POST', url: '/mcp/', headers: HEADERS, payload: LIST })
    t.equal(answer.statusCode, 200)
  }
})

void t.test('a range, or no header, accepts both types', async (t) => {
  const { app } = await mcpApp(t, { runnables: [echo] })
  const STATUS: Record<string, number> = {
    '*/*': 200,
    'text/html, */*;q=0.8': 200,
    'application/*, text/*': 200,
    'Application/JSON;q=1, text/event-stream': 200,
    'application/json': 406,
    'text/event-stream': 406,
    'text/html': 406
  }
  for (const [accept, status] of Object.entries(STATUS)) {
    const headers = { ...HEADERS, accept }
    const answer = await app.inject({ method: 'POST', url: '/mcp', headers, payload: LIST })
    t.equal(answer.statusCode, status, accept)
  }
  const { accept: _, ...headers } = HEADERS
  t.equal((await app.inject({ method: 'POST', url: '/mcp', headers, payload: LIST })).statusCode, 200)
})
