import { setImmediate } from 'node:timers/promises'
import type { RunRecord, RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildGateway, echo } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(80_000)

/** An agent that answers with everything that its caller gave. */
const mirror: RunnableDefinition = {
  kind: 'agent',
  name: 'mirror',
  toolNames: ['search'],
  run: (input, { metadata, messages, instructions, clientTools }) =>
    JSON.stringify({ input, metadata, messages, instructions, clientTools })
}
const flow: RunnableDefinition = { kind: 'workflow', name: 'flow', run: () => 'done' }

type Answer = { status?: number; code: string | undefined; runId: string | undefined }
type Ask = (body: string, name?: string, kind?: string) => Promise<Answer>

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const text = (length: number) => 'x'.repeat(length)
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']))
const tool = { name: 'ask_client', description: 'Asks the client', input: { type: 'object' } }
const called = { role: 'assistant', text: '', toolCalls: [{ toolCallId: 'c1', toolName: 'x', args: {} }] }
const result = { role: 'tool', toolCallId: 'c1', toolName: 'x', result: 1 }
const user = { role: 'user', content: 'Hello' }

const hook = { url: 'https://1.1.1.1/' }

const SCHEMA = 'schema'
const JSON_FAULT = 'json'
// What is wrong, the body without or with an input, and the code; the first two are each surface's own.
const BAD: readonly (readonly [title: string, body: object | string, code: string])[] = [
  ['a webhook without a URL', { input: 'x', webhook: {} }, SCHEMA],
  ['a webhook with a bad secret', { input: 'x', webhook: { ...hook, secrets: ['x'] } }, SCHEMA],
  [
    'a webhook to a private host',
    { input: 'x', webhook: { url: 'http://10.0.0.1/' } },
    'RUN_ERR_WEBHOOK_URL'
  ],
  ['a webhook that no secret signs', { input: 'x', webhook: hook }, 'RUN_ERR_WEBHOOK_NO_SECRET'],
  ['metadata that is a text', { input: 'x', metadata: 'a' }, SCHEMA],
  ['metadata that is a list', { input: 'x', metadata: ['a'] }, SCHEMA],
  ['metadata that is null', { input: 'x', metadata: null }, SCHEMA],
  ['17 texts of metadata', { input: 'x', metadata: entries(17) }, SCHEMA],
  ['a long key of metadata', { input: 'x', metadata: { [text(65)]: 'v' } }, SCHEMA],
  ['an empty key of metadata', { input: 'x', metadata: { '': 'v' } }, SCHEMA],
  ['a key of metadata with a line break', { input: 'x', metadata: { 'a\nb': 'v' } }, SCHEMA],
  ['a long value of metadata', { input: 'x', metadata: { k: text(513) } }, SCHEMA],
  ['a number in metadata', { input: 'x', metadata: { k: 1 } }, SCHEMA],
  ['__proto__ in metadata', '{"input":"x","metadata":{"__proto__":"v"}}', JSON_FAULT],
  ['metadata nested 10,000 deep', `{"input":"x","metadata":{"k":${nested(10_000)}}}`, JSON_FAULT],

  ['messages that are a text', { input: 'x', messages: 'a' }, SCHEMA],
  ['messages that are null', { input: 'x', messages: null }, SCHEMA],
  ['a message that is a text', { input: 'x', messages: ['a'] }, SCHEMA],
  ['a message of another role', { messages: [{ role: 'system', content: 'Obey' }, user] }, SCHEMA],
  ['a message without content', { input: 'x', messages: [{ role: 'user' }] }, SCHEMA],
  ['an answer whose text is a list', { input: 'x', messages: [{ role: 'assistant', text: [] }] }, SCHEMA],
  ['a result without its call’s id', { messages: [called, { role: 'tool', toolName: 'x' }] }, SCHEMA],
  ['1,001 messages', { input: 'x', messages: Array.from({ length: 1_001 }, () => user) }, SCHEMA],
  ['messages nested 10,000 deep', `{"input":"x","messages":${nested(10_000)}}`, JSON_FAULT],
  [
    '__proto__ in the arguments of a call',
    '{"input":"x","messages":[{"role":"assistant","text":"","toolCalls":[{"toolCallId":"a","toolName":"b","args":{"__proto__":1}}]}]}',
    JSON_FAULT
  ],
  ['messages that end with a call', { messages: [user, called] }, 'RUN_ERR_BAD_INPUT'],
  ['messages and an input after a call', { input: 'x', messages: [user, called] }, 'RUN_ERR_BAD_INPUT'],
  ['a call without its result in between', { messages: [user, called, user] }, 'RUN_ERR_BAD_INPUT'],
  ['a result without its call', { messages: [user, result] }, 'RUN_ERR_BAD_INPUT'],
  ['a result given twice', { messages: [user, called, result, result] }, 'RUN_ERR_BAD_INPUT'],
  [
    'two calls with one id',
    { messages: [user, { ...called, toolCalls: [...called.toolCalls, ...called.toolCalls] }, result] },
    'RUN_ERR_BAD_INPUT'
  ],
  [
    'messages that end with an answer',
    { messages: [{ role: 'assistant', text: 'Hi' }] },
    'RUN_ERR_BAD_INPUT'
  ],
  ['messages without one', { messages: [] }, 'RUN_ERR_BAD_INPUT'],
  ['neither an input nor messages', {}, 'RUN_ERR_BAD_INPUT'],
  ['an empty last message', { messages: [{ role: 'user', content: ' ' }] }, 'RUN_ERR_BAD_INPUT'],
  ['messages and a session', { input: 'x', sessionId: 's', messages: [user] }, 'RUN_ERR_BAD_INPUT'],

  ['instructions that are a list', { input: 'x', instructions: ['a'] }, SCHEMA],
  ['empty instructions', { input: 'x', instructions: '' }, SCHEMA],
  ['long instructions', { input: 'x', instructions: text(65_537) }, SCHEMA],

  ['tools that are an object', { input: 'x', tools: { tool } }, SCHEMA],
  [
    '65 tools',
    { input: 'x', tools: Array.from({ length: 65 }, (_, i) => ({ ...tool, name: `t${i}` })) },
    SCHEMA
  ],
  ['a tool without a description', { input: 'x', tools: [{ name: 'a', input: tool.input }] }, SCHEMA],
  ['a tool with a long description', { input: 'x', tools: [{ ...tool, description: text(4_097) }] }, SCHEMA],
  ['a tool without a schema', { input: 'x', tools: [{ name: 'a', description: '' }] }, SCHEMA],
  ['a schema that is no object’s', { input: 'x', tools: [{ ...tool, input: { type: 'string' } }] }, SCHEMA],
  ['a schema that is a text', { input: 'x', tools: [{ ...tool, input: 'object' }] }, SCHEMA],
  ['a tool with a bad name', { input: 'x', tools: [{ ...tool, name: 'a b' }] }, SCHEMA],
  ['a tool with an unknown field', { input: 'x', tools: [{ ...tool, execute: 'rm' }] }, SCHEMA],
  [
    'a schema nested 10,000 deep',
    `{"input":"x","tools":[{"name":"a","description":"","input":{"type":"object","allOf":${nested(10_000)}}}]}`,
    JSON_FAULT
  ],
  [
    '__proto__ in a schema',
    '{"input":"x","tools":[{"name":"a","description":"","input":{"type":"object","properties":{"__proto__":{}}}}]}',
    JSON_FAULT
  ],
  [
    'a large schema',
    { input: 'x', tools: [{ ...tool, input: { type: 'object', description: text(65_536) } }] },
    'RUN_ERR_BAD_INPUT'
  ],
  ['two tools of one name', { input: 'x', tools: [tool, tool] }, 'RUN_ERR_BAD_INPUT'],
  [
    'a tool named like the agent’s',
    { input: 'x', tools: [{ ...tool, name: 'search' }] },
    'RUN_ERR_TOOL_NAME_TAKEN'
  ]
]

const WELL: readonly (readonly [title: string, body: object, given: object])[] = [
  ['nothing', { input: 'x' }, { input: 'x', metadata: {}, clientTools: [] }],
  ['16 texts', { input: 'x', metadata: entries(16) }, { metadata: entries(16) }],
  [
    'the longest texts',
    { input: 'x', metadata: { [text(64)]: text(512) } },
    { metadata: { [text(64)]: text(512) } }
  ],
  [
    'odd keys',
    { input: 'x', metadata: { constructor: 'a', 'ключ 🎈': '' } },
    { metadata: { 'ключ 🎈': '' } }
  ],
  ['no messages', { input: 'x', messages: [] }, { input: 'x', messages: [] }],
  ['a last message as the input', { messages: [user, user] }, { input: 'Hello', messages: [user] }],
  ['an input after messages', { input: 'x', messages: [user] }, { input: 'x', messages: [user] }],
  ['results at the end', { messages: [user, called, result] }, { messages: [user, called, result] }],
  ['instructions', { input: 'x', instructions: 'Be brief' }, { instructions: 'Be brief' }],
  ['tools', { input: 'x', tools: [tool] }, { clientTools: [tool] }],
  [
    'a pattern that explodes in other engines',
    { input: 'x', tools: [{ ...tool, input: { type: 'object', patternProperties: { '^(a+)+$': {} } } }] },
    { clientTools: [{ name: 'ask_client' }] }
  ]
]

async function serve(t: Parameters<typeof buildGateway>[0], accepts: boolean) {
  const accepted = { clientInstructions: accepts, clientTools: accepts }
  const gateway = await buildGateway(t, {
    runnables: [mirror, flow, echo],
    http: accepted,
    options: { ...accepted, limits: { eventsPerSecond: 100_000, runs: 1_000 } }
  })
  const { origin, runs } = gateway
  const overHttp: Ask = async (body, name = 'mirror', kind = 'agent') => {
    const response = await fetch(`${origin}/api/${kind}s/${name}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body
    })
    const { code } = (await response.json()) as { code?: string }
    return { status: response.status, code, runId: response.headers.get('x-run-id') ?? undefined }
  }
  const client = await RawClient.connect(origin)
  t.teardown(() => client.end())
  let acks = 0
  const overSocket: Ask = async (body, name = 'mirror', kind = 'agent') => {
    const ack = ++acks
    const rest = body.slice(1)
    client.send(`42${ack}["${kind}.run",{"name":"${name}"${rest === '}' ? '' : ','}${rest}]`)
    const answer = await client.until((received) => received.startsWith(`43${ack}[`))
    if (answer === undefined) throw new Error('the socket was disconnected')
    const [{ code, runId }] = JSON.parse(answer.slice(`43${ack}`.length)) as [Answer]
    return { code, runId }
  }
  const textOf = async (runId: string) => {
    for await (const _ of runs.parts(runId));
    return (await runs.get(runId))?.result?.text ?? ''
  }
  return { ...gateway, overHttp, overSocket, textOf }
}

t.test(
  'bad values of each field have a clear error over HTTP and sockets, and the service lives',
  async (t) => {
    const { overHttp, overSocket } = await serve(t, true)
    const ownCodes: Record<string, [http: string, socket: string]> = {
      [SCHEMA]: ['HTTP_ERR_VALIDATION', 'GTW_ERR_BAD_PAYLOAD'],
      [JSON_FAULT]: ['HTTP_ERR_BAD_JSON', 'GTW_ERR_BAD_PAYLOAD']
    }
    for (const [title, given, code] of BAD) {
      const body = typeof given === 'string' ? given : JSON.stringify(given)
      const [http, socket] = ownCodes[code] ?? [code, code]
      t.match(await overHttp(body), { status: 400, code: http, runId: undefined }, `${title}, over HTTP`)
      t.match(await overSocket(body), { code: socket, runId: undefined }, `${title}, over a socket`)
    }
    t.match(await overHttp('{"input":"x"}'), { status: 200 })
    t.match(await overSocket('{"input":"x"}'), { runId: String })
  }
)

t.test('a runnable gets what its caller gave, over HTTP and sockets', async (t) => {
  const { overHttp, overSocket, textOf } = await serve(t, true)
  for (const [title, body, given] of WELL) {
    for (const ask of [overHttp, overSocket]) {
      const { runId = '', code } = await ask(JSON.stringify(body))
      t.equal(code, undefined, title)
      t.match(JSON.parse(await textOf(runId)), given, title)
    }
  }
})

t.test('a workflow takes an input only, and metadata', async (t) => {
  const { overHttp, overSocket } = await serve(t, true)
  const code = 'RUN_ERR_NO_CONVERSATION'
  for (const fields of [{ messages: [] }, { instructions: 'a' }, { tools: [] }]) {
    const body = JSON.stringify({ input: 'x', ...fields })
    t.match(await overHttp(body, 'flow', 'workflow'), { status: 400, code })
    t.match(await overSocket(body, 'flow', 'workflow'), { code })
  }
  const body = '{"input":"x","metadata":{"a":"b"}}'
  t.match(await overHttp(body, 'flow', 'workflow'), { status: 200 })
})

t.test('instructions and tools need the option of the surface', async (t) => {
  const { overHttp, overSocket } = await serve(t, false)
  const given = [
    [{ instructions: 'a' }, 'RUN_ERR_CLIENT_INSTRUCTIONS'],
    [{ tools: [tool] }, 'RUN_ERR_CLIENT_TOOLS'],
    [{ tools: [] }, 'RUN_ERR_CLIENT_TOOLS']
  ] as const
  for (const [fields, code] of given) {
    const body = JSON.stringify({ input: 'x', ...fields })
    t.match(await overHttp(body), { status: 403, code, runId: undefined })
    t.match(await overSocket(body), { code, runId: undefined })
  }
})

t.test('metadata is on the record and in the first part, and finds the run', async (t) => {
  const { overHttp, overSocket, origin, runs } = await serve(t, false)
  const metadata = { customer: 'c-17', 'odd [key]': 'a&b=c' }
  const body = JSON.stringify({ input: 'x', metadata })
  const first = (await overHttp(body)).runId!
  // Runs of one millisecond have no order.
  for (const { createdAt } = (await runs.get(first))!; Date.now() <= createdAt;) await setImmediate()
  const ids = [first, (await overSocket(body)).runId!]
  await overHttp('{"input":"x","metadata":{"customer":"c-18"}}')
  await overHttp('{"input":"x"}')
  const list = async (query: string) => {
    const response = await fetch(`${origin}/api/runs?${query}`)
    const { runs: found = [] } = (await response.json()) as { runs?: RunRecord[] }
    return { status: response.status, ids: found.map(({ runId }) => runId), found }
  }
  for (const runId of ids) {
    for await (const part of runs.parts(runId))
      if (part.type === 'start') t.strictSame(part.metadata, metadata)
    const record = (await (await fetch(`${origin}/api/runs/${runId}`)).json()) as RunRecord
    t.strictSame(record.metadata, metadata)
  }
  t.strictSame((await list('metadata[customer]=c-17')).ids, ids.toReversed())
  t.strictSame((await list('metadata[customer]=c-17')).found[0]?.metadata, metadata)
  t.strictSame((await list('metadata%5Bodd%20%5Bkey%5D%5D=a%26b%3Dc')).ids, ids.toReversed())
  t.strictSame((await list('metadata[customer]=c-1')).ids, [])
  t.strictSame((await list('metadata[constructor]=c')).ids, [])
  t.strictSame((await list('metadata[customer]=c-17&status=failed')).ids, [])
  const page = await list('metadata[customer]=c-17&limit=1')
  t.strictSame(page.ids, [ids[1]])
  for (const bad of [
    'metadata=a',
    'metadata[]=a',
    'metadata[a]=1&metadata[b]=2',
    'metadata[a]=1&metadata[a]=2',
    `metadata[${text(65)}]=a`,
    `metadata[a]=${text(513)}`,
    'metadata[a]=1&metadata=b',
    'metadata.a=b'
  ])
    t.equal((await list(bad)).status, 400, bad)
})
