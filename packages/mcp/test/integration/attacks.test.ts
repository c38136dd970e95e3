import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { connect as openSocket } from 'node:net'
import { text } from 'node:stream/consumers'
import { cases } from '@tools/wires/volume'
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  jsonValue,
  oneof,
  record,
  string
} from 'fast-check'
import t, { type Test } from 'tap'
import type { RunContext } from '@svc/registry'
import { connect, mcpApp, type McpApp } from '../helpers/mcp-app.ts'
import { sendModern } from '../helpers/send-modern.ts'

const echo = { kind: 'agent' as const, name: 'echo', run: (input: unknown) => String(input) }
const asker = {
  kind: 'agent' as const,
  name: 'asker',
  run: async (_input: unknown, context: RunContext) =>
    String((await context.ask({ message: 'Which?' })).content)
}
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: {} }
}
const CALL = {
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name: 'echo', arguments: { message: 'x' }, _meta: META }
}
const OLD_CALL = { ...CALL, params: { name: 'echo', arguments: { message: 'x' } } }
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream'
}
const MODERN = {
  ...HEADERS,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'echo'
}
const HEADER_MISMATCH = -32020

interface Reply {
  status: number
  /** The error of JSON-RPC. */
  code: number | undefined
}

type Headers = Record<string, string | string[]>

/** Sends what `fetch` does not: header lines that stand twice, or are broken. */
async function post(url: string, headers: Headers, body: unknown): Promise<Reply> {
  const sent = request(url, { method: 'POST', headers, agent: false })
  // The service may refuse before it has read everything.
  sent.on('error', () => {})
  sent.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const reply = await text(response)
  const json = /^data: (.*)$/m.exec(reply)?.[1] ?? reply
  const { error } = (json.startsWith('{') ? JSON.parse(json) : {}) as { error?: { code?: number } }
  return { status: response.statusCode!, code: error?.code }
}

async function stillServes(t: Test, { url }: McpApp): Promise<void> {
  t.match(await post(url, MODERN, CALL), { status: 200, code: undefined }, 'the service still serves')
}

void t.test('headers that contradict the body, or themselves, are refused', async (t) => {
  const app = await mcpApp(t, { runnables: [echo, asker] })
  const { url } = app
  const cases: [name: string, headers: Headers][] = [
    ['another method', { ...MODERN, 'mcp-method': 'tools/list' }],
    ['no method', { ...HEADERS, 'mcp-protocol-version': '2026-07-28' }],
    ['two methods', { ...MODERN, 'mcp-method': ['tools/call', 'tools/list'] }],
    ['the method twice', { ...MODERN, 'mcp-method': ['tools/call', 'tools/call'] }],
    ['a method of another case', { ...MODERN, 'mcp-method': 'TOOLS/CALL' }],
    ['another name', { ...MODERN, 'mcp-name': 'asker' }],
    ['two names', { ...MODERN, 'mcp-name': ['echo', 'asker'] }],
    ['a name that is no Base64', { ...MODERN, 'mcp-name': '=?base64?%%%?=' }],
    ['another name in Base64', { ...MODERN, 'mcp-name': '=?base64?YXNrZXI=?=' }],
    ['another revision', { ...MODERN, 'mcp-protocol-version': '2025-11-25' }],
    ['two revisions', { ...MODERN, 'mcp-protocol-version': ['2026-07-28', '2025-11-25'] }]
  ]
  for (const [name, headers] of cases)
    t.match(await post(url, headers, CALL), { status: 400, code: HEADER_MISMATCH }, name)
  t.match(
    await post(url, { ...MODERN, 'mcp-name': ' =?base64?ZWNobw==?= ' }, CALL),
    { status: 200 },
    'the same name'
  )
  const header = { ...MODERN, 'mcp-name': 'x'.repeat(20_000) }
  t.match(await post(url, header, CALL), { status: 431 }, 'headers of 20 kB')
  await stillServes(t, app)
})

void t.test('bodies that are too large, too deep, or none are refused', async (t) => {
  const app = await mcpApp(t, { runnables: [echo] })
  const { url } = app
  const large = { ...CALL, params: { ...CALL.params, arguments: { message: 'x'.repeat(5_000_000) } } }
  const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`
  const inner = (key: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"${key}":{"x":1}}}}`
  const typed = (type: string) => ({ ...MODERN, 'content-type': type })
  const { 'content-type': _, ...untyped } = MODERN
  const batch = (size: number) => Array.from({ length: size }, (_each, id) => ({ ...OLD_CALL, id }))
  const cases: [name: string, headers: Headers, body: unknown, status: number, code: number][] = [
    ['5 MB', MODERN, large, 413, -32602],
    ['20,000 levels', MODERN, deep, 400, -32700],
    ['__proto__', HEADERS, inner('__proto__'), 400, -32700],
    ['bytes that are no UTF-8', MODERN, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 400, -32700],
    ['text', typed('text/plain'), CALL, 415, -32602],
    ['XML', typed('application/xml'), '<call/>', 415, -32602],
    ['a form', typed('application/x-www-form-urlencoded'), 'method=tools/call', 415, -32602],
    ['no type', untyped, CALL, 415, -32602],
    ['Latin 1', typed('application/json; charset=latin1'), CALL, 415, -32602],
    ['compressed', { ...MODERN, 'content-encoding': 'gzip' }, CALL, 415, -32602],
    ['a batch of 2026-07-28', MODERN, [CALL], 400, -32600],
    ['a batch in a batch', HEADERS, [[OLD_CALL]], 400, -32600],
    ['a batch of 101', HEADERS, batch(101), 400, -32600],
    ['an id that is an object', HEADERS, { ...OLD_CALL, id: {} }, 400, -32600],
    ['an id that is null', HEADERS, { ...OLD_CALL, id: null }, 400, -32600],
    ['parameters that are a list', HEADERS, { ...OLD_CALL, params: ['echo'] }, 400, -32600],
    ['no version of JSON-RPC', HEADERS, { ...OLD_CALL, jsonrpc: '1.0' }, 400, -32600],
    ['no client of 2026-07-28', MODERN, OLD_CALL, 400, -32602],
    ['an unknown method', HEADERS, { ...OLD_CALL, method: '__proto__' }, 200, -32601],
    ['the name of a method of objects', HEADERS, { ...OLD_CALL, method: 'toString' }, 200, -32601]
  ]
  for (const [name, headers, body, status, code] of cases)
    t.match(await post(url, headers, body), { status, code }, name)
  t.match(
    await post(url, { ...HEADERS, accept: 'text/html' }, OLD_CALL),
    { status: 406 },
    'no type that is accepted'
  )
  await stillServes(t, app)
})

void t.test('names and ids that lead nowhere are not found', async (t) => {
  const app = await mcpApp(t, { runnables: [echo] })
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const cases: [method: string, params: Record<string, unknown>][] = [
    ...['__proto__', 'constructor', 'agent.echo', 'team.', '../echo', 'echo~', ''].map(
      (name): [string, Record<string, unknown>] => ['tools/call', { name, arguments: {} }]
    ),
    ...['__proto__', 'echo.', 'echo.x'].map((name): [string, Record<string, unknown>] => [
      'prompts/get',
      { name }
    ]),
    ...['run://..', 'run://%00', 'run://%', 'run://a/files/../../etc/passwd', 'run://__proto__', 'x'].map(
      (uri): [string, Record<string, unknown>] => ['resources/read', { uri }]
    ),
    ...['__proto__', '../x', '%00', 'x'.repeat(10_000)].flatMap(
      (taskId): [string, Record<string, unknown>][] => [
        ['tasks/get', { taskId }],
        ['tasks/cancel', { taskId }]
      ]
    ),
    ...['', '.1', 'x.1', `${'x'.repeat(10_000)}.1`, '__proto__.1'].map(
      (requestState): [string, Record<string, unknown>] => [
        'tools/call',
        { name: 'echo', arguments: {}, requestState }
      ]
    ),
    ['resources/list', { cursor: 'x' }],
    ['resources/list', { cursor: 'x'.repeat(10_000) }]
  ]
  for (const [method, params] of cases)
    t.match(
      await sendModern(app.url, method, params, { capabilities }),
      { error: { code: -32602 } },
      `${method} ${JSON.stringify(params).slice(0, 80)}`
    )
  await stillServes(t, app)
})

void t.test(
  'what another was asked cannot be answered with the id of the session, nor of the input',
  async (t) => {
    const authenticate = ({ token }: { token?: string }) =>
      token === undefined ? null : { sub: token, scopes: [] }
    const { url, runs } = await mcpApp(t, { runnables: [asker], engine: { authenticate } })
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: may, resolve: answer } = Promise.withResolvers<void>()
    const client = await connect(t, url, {
      revision: '2025-11-25',
      token: 'ann',
      capabilities: { elicitation: {} },
      async prepare(prepared) {
        prepared.setRequestHandler('elicitation/create', async () => {
          ask()
          await may
          return { action: 'accept', content: { answer: 'blue' } }
        })
      }
    })
    const call = client.callTool({ name: 'asker', arguments: { message: 'x' } })
    await asked
    const { inputs } = await runs.listInputs({ kinds: ['question'], limit: 1 })
    const { inputId } = inputs[0]!.input
    const response = {
      jsonrpc: '2.0',
      id: `input:${inputId}`,
      result: { action: 'accept', content: { answer: 'red' } }
    }
    const { sessionId = '' } = client.transport as { sessionId?: string }
    const bob = { ...HEADERS, authorization: 'Bearer bob', 'mcp-session-id': sessionId }
    t.match(await post(url, bob, response), { status: 404, code: -32602 })
    answer()
    t.match((await call).content, [{ text: 'blue' }])
    const ann = { ...HEADERS, authorization: 'Bearer ann', 'mcp-session-id': sessionId }
    t.match(await post(url, ann, response), { status: 202 }, 'an answer that comes twice changes nothing')
  }
)

void t.test('requests that are cut, or have two lengths, end nothing', async (t) => {
  const app = await mcpApp(t, { runnables: [echo] })
  const { port } = new URL(app.url)
  const head = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
  const broken = [
    `${head}Content-Length: 100\r\n\r\n{"jsonrpc"`,
    `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    `${head}Mcp-Method : tools/call\r\n\r\n`,
    `${head}Mcp-Method: tools/call\r\n X: y\r\n\r\n`
  ]
  for (const bytes of broken) {
    const socket = openSocket(Number(port), '127.0.0.1')
    socket.end(bytes)
    const reply = await text(socket)
    t.notMatch(reply, /^HTTP\/1\.1 5/, JSON.stringify(bytes.slice(head.length)))
  }
  await stillServes(t, app)
})

void t.test('whatever a message says, it has an answer of JSON-RPC with a status under 500', async (t) => {
  const app = await mcpApp(t, { runnables: [echo] })
  const methods = [
    'initialize',
    'ping',
    'server/discover',
    'tools/list',
    'tools/call',
    'resources/list',
    'resources/read',
    'prompts/list',
    'prompts/get',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
    'subscriptions/listen',
    'notifications/cancelled',
    'notifications/progress',
    'logging/setLevel',
    'completion/complete'
  ]
  const odd = oneof(string(), jsonValue())
  const name = oneof(constantFrom('echo', '__proto__', 'run://x', 'x.1'), odd)
  const params = record(
    {
      name,
      arguments: odd,
      uri: name,
      taskId: name,
      cursor: odd,
      requestState: name,
      inputResponses: odd,
      protocolVersion: odd,
      capabilities: odd,
      clientInfo: odd,
      notifications: odd,
      progressToken: odd,
      _meta: oneof(constantFrom(META), odd, record(valuesOf(META, odd), { requiredKeys: [] }))
    },
    { requiredKeys: [] }
  )
  const message = record(
    {
      jsonrpc: constantFrom('2.0'),
      id: oneof(constantFrom(1, 'input:x'), odd),
      method: oneof(constantFrom(...methods), odd),
      params: oneof(params, odd),
      result: odd,
      error: odd
    },
    { requiredKeys: ['jsonrpc'] }
  )
  const bodies = oneof(message, array(message, { maxLength: 3 }), dictionary(string(), odd))
  await assert(
    asyncProperty(bodies, constantFrom(true, false), async (body, isModern) => {
      const { status, code } = await post(app.url, isModern ? modernHeadersOf(body) : HEADERS, body)
      if (status >= 500) throw new Error(`status ${status}`)
      if (status >= 400 && typeof code !== 'number') throw new Error(`status ${status} without an error`)
    }),
    { numRuns: cases(300) }
  )
  await stillServes(t, app)
})

function valuesOf<T>(keys: object, value: T): Record<string, T> {
  return Object.fromEntries(Object.keys(keys).map((key) => [key, value]))
}

/** Headers that agree with the body, so that it is read. */
function modernHeadersOf(body: object): Headers {
  const { method, params } = body as { method?: unknown; params?: Record<string, unknown> | null }
  const name = params?.['name'] ?? params?.['uri'] ?? params?.['taskId']
  return {
    ...HEADERS,
    'mcp-protocol-version': '2026-07-28',
    ...(typeof method === 'string' && /^[\w/]+$/.test(method) && { 'mcp-method': method }),
    ...(typeof name === 'string' && { 'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=` })
  }
}
