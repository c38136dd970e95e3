import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
  type Tool
} from '@modelcontextprotocol/sdk/types.js'
import { MAX_TIMER } from '@svc/contract'
import { createInProcessStores } from '@svc/registry'
import { mcpTools, type McpConnection, type McpTool, type McpToolsOptions } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

type Call = (args: Record<string, unknown>, signal: AbortSignal) => CallToolResult | Promise<CallToolResult>
const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] })
const png = Buffer.from('a png').toString('base64')
const empty = { type: 'object' as const }

const CALLS: Record<string, readonly [tool: Partial<Tool>, call: Call]> = {
  add: [
    {
      description: 'Adds',
      inputSchema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b']
      } as never
    },
    ({ a, b }) => text(String(Number(a) + Number(b)))
  ],
  'fail.hard': [{}, () => ({ ...text('no such file'), isError: true })],
  throws: [{}, () => Promise.reject(new Error('broken inside'))],
  picture: [
    {},
    () => ({
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', mimeType: 'image/png', data: png }
      ]
    })
  ],
  facts: [
    { outputSchema: { type: 'object', properties: { n: { type: 'number' } } } },
    () => ({ ...text('{"n":1}'), structuredContent: { n: 1 } })
  ],
  file: [
    {},
    () => ({
      content: [
        { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
        { type: 'resource_link', uri: 'https://example.org/b', name: 'b' },
        { type: 'resource', resource: { uri: 'file:///c.bin', blob: png } },
        { type: 'audio', mimeType: 'audio/wav', data: png }
      ]
    })
  ],
  hangs: [
    {},
    (_args, signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(text('aborted'))))
  ],
  nothing: [{}, () => ({ content: [] })]
}

/** A server that lists these tools in pages of two, and a connected client. */
async function connect(t: { teardown(fn: () => unknown): void }, extra: Tool[] = []) {
  const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } })
  const all: Tool[] = [
    ...Object.entries(CALLS).map(([name, [tool]]) => ({ name, inputSchema: empty, ...tool })),
    ...extra
  ]
  const aborted: string[] = []
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0)
    const more = from + 2 < all.length ? { nextCursor: String(from + 2) } : {}
    return { tools: all.slice(from, from + 2), ...more }
  })
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    signal.addEventListener('abort', () => aborted.push(params.name))
    return CALLS[params.name]![1](params.arguments ?? {}, signal)
  })
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  t.teardown(() => client.close())
  return { client, server, aborted }
}

async function runWith(
  t: Parameters<typeof connect>[0],
  toolCalls: { toolName: string; args?: object }[],
  options?: McpToolsOptions
) {
  const { client, aborted } = await connect(t)
  const tools = await mcpTools(client, options)
  const stores = createInProcessStores()
  const { agent, model } = makeAgent([{ toolCalls }, 'Done.'], { tools })
  const run = await collect(agent.stream('Go', makeContext({ stores, sessionId: 's' }).context))
  return {
    ...run,
    model,
    stores,
    aborted,
    sent: model.calls[1]?.prompt.at(-1)?.content as { output: unknown }[]
  }
}

t.test('all tools of a server, from every page', async (t) => {
  const { client } = await connect(t)
  const tools = await mcpTools(client, { prefix: 'srv_' })
  t.strictSame(
    tools.map(({ name }) => name),
    [
      'srv_add',
      'srv_fail_hard',
      'srv_throws',
      'srv_picture',
      'srv_facts',
      'srv_file',
      'srv_hangs',
      'srv_nothing'
    ]
  )
  t.match(tools[0], { description: 'Adds', inputSchema: { required: ['a', 'b'] } })
})

t.test('the classes and shapes of the SDK fit the types', async (t) => {
  const { client } = await connect(t)
  const connection: McpConnection = client
  const tool: McpTool = {} as Tool
  t.ok(connection && tool)
  // @ts-expect-error -- a server has no tools to call
  const none: McpConnection = {} as Server
  t.ok(none)
})

t.test('include selects tools', async (t) => {
  const { client } = await connect(t)
  const names = async (include: McpToolsOptions['include']) =>
    (await mcpTools(client, { include: include! })).map(({ name }) => name)
  t.strictSame(await names(['add', 'fail.hard']), ['add', 'fail_hard'])
  t.strictSame(await names(({ name }) => name.startsWith('f')), ['fail_hard', 'facts', 'file'])
  await t.rejects(names(['add', 'absent']), { code: 'RUN_ERR_MCP', message: /no tool "absent"/ })
})

t.test('calls and their results', async (t) => {
  const run = await runWith(t, [
    { toolName: 'add', args: { a: 2, b: 3 } },
    { toolName: 'facts' },
    { toolName: 'nothing' },
    { toolName: 'add', args: { a: '2' } },
    { toolName: 'fail_hard' },
    { toolName: 'throws' }
  ])
  const results = run.ofType('tool.result').map(({ result }) => result)
  t.strictSame(results, ['5', { n: 1 }, ''])
  const errors = Object.fromEntries(run.ofType('tool.error').map(({ toolName, error }) => [toolName, error]))
  t.match(errors, {
    add: { code: 'RUN_ERR_TOOL_BAD_ARGS', message: /b|number/ },
    fail_hard: { code: 'RUN_ERR_TOOL_FAILED', message: 'no such file' },
    throws: { code: 'RUN_ERR_TOOL_FAILED', message: /broken inside/ }
  })
  t.equal(run.text, 'Done.')
})

t.test('images reach the model; logs and sessions have references', async (t) => {
  const run = await runWith(t, [{ toolName: 'picture' }, { toolName: 'file' }])
  t.strictSame(run.sent[0]?.output, {
    type: 'content',
    value: [
      { type: 'text', text: 'Look' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: png } }
    ]
  })
  t.match(run.sent[1]?.output, {
    value: [
      { text: 'inside' },
      { text: 'https://example.org/b' },
      { mediaType: 'application/octet-stream' },
      { mediaType: 'audio/wav' }
    ]
  })
  const picture = run.ofType('tool.result').find(({ toolName }) => toolName === 'picture')
  t.match(picture?.result, {
    content: [
      { type: 'text', text: 'Look' },
      { type: 'image', mimeType: 'image/png', size: 5, sha256: /^[0-9a-f]{64}$/ }
    ]
  })
  const key = {
    registry: 'global',
    owner: 'anonymous',
    kind: 'agent' as const,
    name: 'tester',
    sessionId: 's'
  }
  const kept = JSON.stringify([run.parts, await run.stores.sessions.load(key, 10)])
  t.notMatch(kept, png)
})

t.test('a call that takes too long is aborted, on the server too', async (t) => {
  const run = await runWith(t, [{ toolName: 'hangs' }], { timeout: 60 })
  t.match(run.ofType('tool.error'), [{ error: { code: 'RUN_ERR_TOOL_TIMEOUT' } }])
  t.strictSame(run.aborted, ['hangs'])
})

t.test('the client sets no limit of its own: that of the tool gives the error', async (t) => {
  const { client } = await connect(t)
  const request = client.request.bind(client)
  const limits: (number | undefined)[] = []
  client.request = (asked, schema, options) => {
    if (asked.method === 'tools/call') limits.push(options?.timeout)
    return request(asked, schema, options)
  }
  const tools = await mcpTools(client, { timeout: 60 })
  const { agent } = makeAgent([{ toolCalls: [{ toolName: 'hangs' }] }, 'Done.'], { tools })
  const run = await collect(agent.stream('Go', makeContext({}).context))
  t.match(run.ofType('tool.error'), [{ error: { code: 'RUN_ERR_TOOL_TIMEOUT' } }])
  t.strictSame(limits, [MAX_TIMER])
})

t.test('approvals, for all tools or by name', async (t) => {
  const asked = async (approval: McpToolsOptions['approval']) => {
    const run = await runWith(t, [{ toolName: 'add', args: { a: 1, b: 1 } }, { toolName: 'facts' }], {
      approval: approval!
    })
    return run.ofType('tool.error').map(({ toolName, error }) => `${toolName} ${error.code}`)
  }
  const denied = 'RUN_ERR_APPROVAL_DENIED'
  t.strictSame(await asked(true), [`add ${denied}`, `facts ${denied}`])
  t.strictSame(await asked({ facts: true }), [`facts ${denied}`])
  t.strictSame(await asked((args: unknown) => (args as { a?: number }).a === 1), [`add ${denied}`])
  t.strictSame(await asked(false), [])
})

t.test('options shared by the tools of a server', async (t) => {
  const { client } = await connect(t, [{ name: 'add', inputSchema: empty }])
  const options = { approvalTimeout: 1_000, timeout: 2_000, maxOutputBytes: 3_000 }
  t.match(await mcpTools(client, options), [{ name: 'add', ...options }])
})

t.test('unknown and bad options', async (t) => {
  const { client } = await connect(t)
  const bad: [object, RegExp][] = [
    [{ prefx: 'x' }, /mcpTools: prefx:/],
    [{ include: 'add' }, /mcpTools: include/],
    [{ approval: 'yes' }, /mcpTools: approval/],
    [{ approval: { add: 'yes' } }, /mcpTools: approval/],
    [{ timeout: 0 }, /mcpTools: timeout/]
  ]
  for (const [options, message] of bad)
    await t.rejects(mcpTools(client, options), { code: 'RUN_ERR_BAD_TOOL', message }, JSON.stringify(options))
})

t.test('an unusable server', async (t) => {
  const { client, server } = await connect(t)
  await t.rejects(mcpTools({ listTools: async () => ({}) } as never), {
    code: 'RUN_ERR_MCP',
    message: /is no list/
  })
  await server.close()
  await t.rejects(mcpTools(client), { code: 'RUN_ERR_MCP', message: /cannot be listed/ })
  const endless = {
    listTools: async () => ({
      tools: Array.from({ length: 600 }, () => ({ name: 'a', inputSchema: empty })),
      nextCursor: 'x'
    })
  }
  await t.rejects(mcpTools(endless as never), { code: 'RUN_ERR_MCP', message: /more than 1000/ })
})
