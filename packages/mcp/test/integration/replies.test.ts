import type { RunContext } from '@svc/registry'
import t from 'tap'
import { connect, mcpApp, REVISIONS } from '../helpers/mcp-app.ts'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {}
}

const echo = { kind: 'agent' as const, name: 'echo', run: (input: unknown) => String(input) }

interface Sent {
  id?: number
  result?: Record<string, unknown>
  error?: { code: number; message: string; data?: unknown }
}

/** Sends messages as they are. */
function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body: JSON.stringify(body) })
}

const toCall = (id: number, name: string, message = 'x') => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: { message } }
})

/** A call as a revision sends it. */
function call(url: string, revision: string, name: string): Promise<Response> {
  const request = toCall(1, name)
  if (revision !== '2026-07-28') return post(url, request, { 'mcp-protocol-version': revision })
  return post(
    url,
    { ...request, params: { ...request.params, _meta: META } },
    { 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': name }
  )
}

const messagesOf = (stream: string) =>
  [...stream.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!) as Sent)

for (const revision of REVISIONS) {
  t.test(`${revision}: a call that has nothing to say before its result is answered with JSON`, async (t) => {
    const { url } = await mcpApp(t, { runnables: [echo] })
    const response = await call(url, revision, 'echo')
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
    t.match(await response.json(), { jsonrpc: '2.0', id: 1, result: { content: [{ text: 'x' }] } })
  })

  t.test(
    `${revision}: the reply to a call that is silent for long is a stream, which is kept alive`,
    async (t) => {
      const { promise: may, resolve: answer } = Promise.withResolvers<string>()
      const slow = { kind: 'agent' as const, name: 'slow', run: () => may }
      const { url } = await mcpApp(t, { runnables: [slow], options: { heartbeat: 5 } })
      // It has headers before the run has ended.
      const response = await call(url, revision, 'slow')
      t.match(response.headers.get('content-type'), /^text\/event-stream/)
      answer('Done')
      const stream = await response.text()
      t.match(stream, /^:\n\n/)
      t.match(messagesOf(stream), [{ id: 1, result: { content: [{ text: 'Done' }] } }])
    }
  )

  t.test(`${revision}: a call whose app closes learns that its run continues`, async (t) => {
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const endless = {
      kind: 'agent' as const,
      name: 'endless',
      run: (_input: unknown, { signal }: RunContext) => {
        start()
        return new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        )
      }
    }
    const { app, url } = await mcpApp(t, { runnables: [endless] })
    const client = await connect(t, url, { revision })
    const called = client.callTool({ name: 'endless', arguments: { message: 'x' } })
    await started
    const closed = app.close()
    t.match(await called, { isError: true, _meta: { runId: String } })
    await closed
  })
}

t.test(
  'a client begins with any revision that has sessions, and may ask whether the server is there',
  async (t) => {
    const { url } = await mcpApp(t, { runnables: [echo], options: { title: 'Echoes', instructions: 'Call' } })
    const initialize = async (protocolVersion: string) => {
      const params = {
        protocolVersion,
        capabilities: { elicitation: {} },
        clientInfo: { name: 'a', version: '1' }
      }
      const response = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
      t.match(response.headers.get('mcp-session-id'), /\.e$/)
      return ((await response.json()) as Sent).result
    }
    for (const revision of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
      t.match(await initialize(revision), { protocolVersion: revision, serverInfo: { title: 'Echoes' } })
    t.match(await initialize('1999-01-01'), { protocolVersion: '2025-11-25', instructions: 'Call' })
    const ping = await post(url, { jsonrpc: '2.0', id: 2, method: 'ping' })
    t.strictSame(await ping.json(), { jsonrpc: '2.0', id: 2, result: {} })
    for (const notification of ['notifications/initialized', 'notifications/cancelled']) {
      const { status } = await post(url, { jsonrpc: '2.0', method: notification })
      t.equal(status, 202, notification)
    }
  }
)

t.test('2025-03-26: each request of a batch is answered, also those that fail', async (t) => {
  const { url } = await mcpApp(t, { runnables: [echo] })
  const batch = [
    toCall(1, 'echo', 'one'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    toCall(2, 'echo', 'two'),
    toCall(3, 'nobody'),
    { jsonrpc: '2.0', id: 4, method: 'unknown' }
  ]
  const response = await post(url, batch, { 'mcp-protocol-version': '2025-03-26' })
  t.equal(response.status, 200)
  const answers = messagesOf(await response.text()).toSorted((one, other) => one.id! - other.id!)
  t.match(answers, [
    { id: 1, result: { content: [{ text: 'one' }] } },
    { id: 2, result: { content: [{ text: 'two' }] } },
    { id: 3, error: { code: -32602 } },
    { id: 4, error: { code: -32601 } }
  ])
  t.equal((await post(url, [{ jsonrpc: '2.0', method: 'notifications/initialized' }])).status, 202)
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-03-26' }
  }
  const refused = await post(url, [initialize, toCall(2, 'echo')])
  t.match([refused.status, await refused.json()], [400, { error: { code: -32600 } }])
})

t.test('a request of an unknown revision learns which ones there are', async (t) => {
  const { url } = await mcpApp(t, { runnables: [echo] })
  const meta = { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
  const response = await post(
    url,
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } },
    { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' }
  )
  t.equal(response.status, 400)
  t.match(await response.json(), {
    id: 1,
    error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } }
  })
  const bare = await post(
    url,
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  )
  t.equal(bare.status, 400)
  t.match(await bare.json(), {
    error: { code: -32602, message: /^params\/_meta\/io\.modelcontextprotocol~1protocolVersion/ }
  })
})

t.test('what the policy forbids is refused with a challenge, whatever the method', async (t) => {
  let isAllowed = true
  const endless = {
    kind: 'agent' as const,
    name: 'endless',
    run: (_input: unknown, { signal }: RunContext) =>
      new Promise<string>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      )
  }
  const authorize = (_principal: unknown, action: string) =>
    action !== 'run' || isAllowed
      ? { allowed: true as const }
      : { allowed: false as const, missing: 'agents' }
  const { url } = await mcpApp(t, {
    runnables: [endless],
    options: { taskAfter: 0 },
    engine: { authenticate: () => ({ sub: 'ann', scopes: [] }), authorize }
  })
  const send = (method: string, params: Record<string, string>) => {
    const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
    const meta = { ...META, 'io.modelcontextprotocol/clientCapabilities': capabilities }
    return post(
      url,
      { jsonrpc: '2.0', id: 1, method, params: { arguments: { message: 'x' }, ...params, _meta: meta } },
      {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': params['name'] ?? params['taskId']!
      }
    )
  }
  const { result } = (await (await send('tools/call', { name: 'endless' })).json()) as Sent
  const taskId = String(result?.['taskId'])
  isAllowed = false
  for (const refused of [
    await send('tools/call', { name: 'endless' }),
    await send('tasks/cancel', { taskId })
  ]) {
    t.equal(refused.status, 403)
    t.match(refused.headers.get('www-authenticate'), /error="insufficient_scope", scope="agents"/)
    t.match(await refused.json(), { id: 1, error: { data: { code: 'MCP_ERR_MISSING_SCOPE' } } })
  }
  isAllowed = true
  t.equal((await send('tasks/cancel', { taskId })).status, 200)
})
