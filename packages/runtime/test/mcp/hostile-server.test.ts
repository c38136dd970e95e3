import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  type CallToolResult,
  type ListToolsResult
} from '@modelcontextprotocol/sdk/types.js'
import { mcpTools, type McpClient } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'

type Test = { teardown(fn: () => unknown): void }
type Schemas = Record<string, object>

// Exponential backtracking.
const EVIL = '^([a-z0-9]+-?)+$'
const LONG = `${'a'.repeat(2_000)}!`
const object = (properties: Schemas, more: object = {}) => ({ type: 'object' as const, properties, ...more })

/** Connects to a server with this list of tools, which answers every call with this content. */
async function connect(
  t: Test,
  list: (cursor: string | undefined) => ListToolsResult,
  structuredContent: Record<string, unknown> = {}
) {
  const server = new Server({ name: 'hostile', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => list(params?.cursor))
  server.setRequestHandler(CallToolRequestSchema, (): CallToolResult => ({
    content: [{ type: 'text', text: 'ok' }],
    structuredContent
  }))
  const [here, there] = InMemoryTransport.createLinkedPair()
  const client = new Client({ name: 'test', version: '1' })
  await Promise.all([server.connect(there), client.connect(here)])
  t.teardown(() => client.close())
  return client
}

/** Calls the only tool of a server. */
async function callWith(t: Test, tool: object, calls: object[], structuredContent?: Record<string, unknown>) {
  const list = () => ({ tools: [{ name: 'work', inputSchema: object({}), ...tool }] })
  const tools = await mcpTools(await connect(t, list, structuredContent))
  const toolCalls = calls.map((args) => ({ toolName: 'work', args }))
  const { agent } = makeAgent([{ toolCalls }, 'Done.'], { tools })
  const { context, logged } = makeContext()
  const run = await collect(agent.stream('Go', context))
  const faults = run.ofType('tool.error').map(({ error }) => [error.code, error.message])
  return { faults, results: run.ofType('tool.result').map(({ result }) => result), logged, text: run.text }
}

t.test(
  'a pattern of the input takes time that is linear in the length of what the model wrote',
  async (t) => {
    const inputSchema = object({ id: { type: 'string', pattern: EVIL } })
    const { faults, results, text } = await callWith(t, { inputSchema }, [{ id: LONG }, { id: 'a-1' }])
    t.strictSame(faults, [['RUN_ERR_TOOL_BAD_ARGS', `Bad arguments: id: must match pattern "${EVIL}"`]])
    t.equal(results.length, 1)
    t.equal(text, 'Done.')
  }
)

t.test('so do property names, and nested texts', async (t) => {
  const tree = {
    anyOf: [
      { type: 'string', pattern: EVIL },
      { type: 'array', items: { $ref: '#/$defs/tree' } }
    ]
  }
  const inputSchema = object(
    {
      tree: { $ref: '#/$defs/tree' },
      map: { patternProperties: { [EVIL]: true }, additionalProperties: false }
    },
    { $defs: { tree } }
  )
  const calls = [{ tree: [[LONG]] }, { map: { [LONG]: 1 } }, { tree: [['a-1'], 'b'], map: { 'a-1': 1 } }]
  const { faults, results } = await callWith(t, { inputSchema }, calls)
  t.match(faults, [
    ['RUN_ERR_TOOL_BAD_ARGS', /tree\/0\/0: must match pattern/],
    ['RUN_ERR_TOOL_BAD_ARGS', /map\/a+…: is not known/]
  ])
  t.equal(results.length, 1)
})

t.test('so does a pattern of the output schema', async (t) => {
  const outputSchema = object({ id: { type: 'string', pattern: EVIL } })
  const bad = await callWith(t, { outputSchema }, [{}], { id: LONG })
  t.match(bad.faults, [['RUN_ERR_TOOL_FAILED', /does not match its schema: id: must match pattern/]])
  t.strictSame((await callWith(t, { outputSchema }, [{}], { id: 'a-1' })).results, [{ id: 'a-1' }])
})

t.test('a pattern that is invalid with /u is valid for RE2', async (t) => {
  const inputSchema = object({ name: { type: 'string', pattern: String.raw`^\@[a-z]+$` } })
  const { faults, results, logged } = await callWith(t, { inputSchema }, [{ name: 'ada' }, { name: '@ada' }])
  t.match(faults, [['RUN_ERR_TOOL_BAD_ARGS', /must match pattern/]])
  t.equal(results.length, 1)
  t.strictSame(logged, [])
})

t.test('unsupported parts are skipped and logged once; the rest is checked', async (t) => {
  const left = {
    a: { pattern: '(?=x)' },
    b: { pattern: String.raw`(.)\1` },
    c: { pattern: '[' },
    d: { type: 'any' }
  }
  const inputSchema = object({ ...left, n: { type: 'number' } })
  const outputSchema = object({ o: { pattern: '(' } })
  const tool = { inputSchema, outputSchema }
  const calls = [{ a: 'a', b: 'b', c: 'c', d: 'd', n: 1 }, { a: 'a' }, { n: 'one' }]
  const { faults, results, logged } = await callWith(t, tool, calls, { o: 'o' })
  t.equal(results.length, 2)
  t.match(faults, [['RUN_ERR_TOOL_BAD_ARGS', /n: must be number/]])
  t.match(
    logged.map(({ level, message, details }) => [level, message, details['unchecked']]),
    [
      [
        'warn',
        /is not checked/,
        [
          /^properties\/a\/pattern: /,
          /^properties\/b\/pattern: /,
          /^properties\/c\/pattern: /,
          /^properties\/d\/type: /
        ]
      ],
      ['warn', /is not checked/, [/^properties\/o\/pattern: /]]
    ]
  )
  t.equal(logged.length, 2)
})

t.test('a schema that refers to itself twice is checked in bounded time', async (t) => {
  const again = { required: ['q'], properties: { x: { $ref: '#/$defs/a' } } }
  const inputSchema = object({ x: { $ref: '#/$defs/a' } }, { $defs: { a: { anyOf: [again, { ...again }] } } })
  let deep: object = {}
  for (let depth = 0; depth < 100; depth++) deep = { x: deep }
  const { faults, text } = await callWith(t, { inputSchema }, [deep])
  t.match(faults, [['RUN_ERR_TOOL_BAD_ARGS', /takes too long/]])
  t.equal(text, 'Done.')
})

t.test('a schema with $async is checked like any other', async (t) => {
  const inputSchema = object({ n: { type: 'number' } }, { $async: true })
  const { faults } = await callWith(t, { inputSchema, outputSchema: inputSchema }, [{ n: 'x' }, { n: 1 }], {
    n: 'x'
  })
  t.match(faults, [
    ['RUN_ERR_TOOL_BAD_ARGS', /n: must be number/],
    ['RUN_ERR_TOOL_FAILED', /does not match its schema: n: must be number/]
  ])
})

t.test('names on Object.prototype are not properties of the arguments', async (t) => {
  const inputSchema = object({ constructor: { type: 'string' } }, { required: ['toString'] })
  const { faults } = await callWith(t, { inputSchema }, [{}])
  t.match(faults, [['RUN_ERR_TOOL_BAD_ARGS', /toString: is required$/]])
})

t.test('an endless or oversized list is an error', async (t) => {
  const tool = (name: string, description = '') => ({ name, description, inputSchema: object({}) })
  let page = 0
  const cases: Record<string, [list: (cursor: string | undefined) => ListToolsResult, says: RegExp]> = {
    'the same cursor again and again': [
      () => ({ tools: [], nextCursor: 'more' }),
      /its list of tools repeats a cursor/
    ],
    'an empty cursor': [() => ({ tools: [], nextCursor: '' }), /its list of tools repeats a cursor/],
    'a circle of pages': [
      (cursor) => ({ tools: [], nextCursor: cursor === 'a' ? 'b' : 'a' }),
      /its list of tools repeats a cursor/
    ],
    'another cursor each time': [() => ({ tools: [], nextCursor: String(page++) }), /more than 100 pages/],
    'tools on every page': [
      () => ({
        tools: Array.from({ length: 100 }, (_, n) => tool(`t${page}_${n}`)),
        nextCursor: String(page++)
      }),
      /more than 1000 tools/
    ],
    'long descriptions': [
      () => ({ tools: [tool(`t${page}`, 'x'.repeat(1_000_000))], nextCursor: String(page++) }),
      /more than 8388608 characters/
    ]
  }
  for (const [what, [list, message]] of Object.entries(cases)) {
    const client = await connect(t, list)
    await t.rejects(mcpTools(client), { code: 'RUN_ERR_MCP', message }, what)
    const { listTools, callTool } = client
    const plain: McpClient = { listTools: listTools.bind(client), callTool: callTool.bind(client) as never }
    await t.rejects(mcpTools(plain), { code: 'RUN_ERR_MCP', message }, `${what}, of a client without request`)
  }
})

t.test('one odd tool is left out with a warning that names it; the others work', async (t) => {
  let deep: object = {}
  for (let depth = 0; depth < 200; depth++) deep = { properties: { a: deep } }
  const long = 'read_'.repeat(20)
  const tool = (name: unknown, inputSchema: unknown = object({})) => ({ name, inputSchema })
  const odd = [
    tool('deep', object({ a: deep })),
    tool('list', { type: 'array' }),
    tool('text', 'a text'),
    tool(''),
    tool(7),
    null,
    tool('a_b'),
    tool('a.b'),
    tool('a b'),
    tool(long),
    tool(`${long}!`),
    tool('7days'),
    tool('bare', {}),
    tool('none', null),
    tool('either', { type: ['object', 'null'] }),
    {
      ...tool('flags', object({ any: true as never, no: false as never })),
      description: 7,
      outputSchema: 'x'
    },
    tool('a_b'),
    tool('work')
  ]
  const client = await connect(t, () => ({ tools: odd }) as never)
  const warned = once(process, 'warning')
  const tools = await mcpTools(client, { prefix: 'srv_' })
  const [warning] = (await warned) as [Error & { code: string }]
  t.match(warning, { code: 'RUN_ERR_MCP' })
  const reasons = [
    'the input schema of "deep" is nested deeper than 128',
    'the input schema of "list" is not that of an object',
    'the input schema of "text" is no schema',
    'one has no name',
    '"a_b" is listed twice'
  ]
  for (const reason of reasons) t.ok(warning.message.includes(reason), reason)
  const names = tools.map(({ name }) => name)
  t.match(names, [
    'srv_a_b',
    'srv_a_b_2',
    'srv_a_b_3',
    /^srv_(read_)+r_[0-9a-f]{8}$/,
    /^srv_(read_)+r_[0-9a-f]{8}$/,
    'srv_7days',
    'srv_bare',
    'srv_none',
    'srv_either',
    'srv_flags',
    'srv_work'
  ])
  t.ok(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)))
  t.equal(new Set(names).size, names.length)
  t.strictSame(tools.find(({ name }) => name === 'srv_flags')?.inputSchema, {
    type: 'object',
    properties: { any: {}, no: { not: {} } }
  })
  const toolCalls = names.map((toolName) => ({ toolName, args: toolName === 'srv_flags' ? { any: 1 } : {} }))
  const calls = [...toolCalls, { toolName: 'srv_flags', args: { no: 1 } }]
  const run = await collect(makeAgent([{ toolCalls: calls }, 'Done.'], { tools }).agent.stream('Go'))
  t.strictSame(
    run
      .ofType('tool.result')
      .map(({ toolName }) => toolName)
      .toSorted(),
    names.toSorted()
  )
  t.match(run.ofType('tool.error'), [{ toolName: 'srv_flags', error: { code: 'RUN_ERR_TOOL_BAD_ARGS' } }])
  t.match(await mcpTools(client, { include: ['work'] }), [{ name: 'work' }])
})
