import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { createOpenAI } from '@ai-sdk/openai'
import { Type } from '@sinclair/typebox'
import { createInProcessStores } from '@svc/registry'
import { Agent, defineTool, type AgentOptions, type Model } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t, { type Test } from 'tap'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { startVendor, VENDORS } from '../helpers/vendors/vendors.ts'
import type { Said } from '../helpers/vendors/wires.ts'

const look = defineTool({ name: 'look', description: 'Looks', input: Type.Object({}), execute: () => 'seen' })
const calls: Said = { call: { id: 'abcdefghi', name: 'look', args: '{}' } }
const long = 'Be brief. '.repeat(400)
const apiKey = 'sk-test-4711aB'

interface Talk {
  readonly vendor?: keyof typeof VENDORS
  readonly model?: (origin: string) => Model
  readonly options?: Partial<AgentOptions>
  /** What the vendor says, by turn. */
  readonly turns?: readonly (readonly Said[])[]
}

/** The bodies that a vendor gets in a session. */
async function bodiesOf(t: Test, { vendor = 'anthropic', model, options, turns = [[{}], [{}]] }: Talk) {
  const server = await startVendor(t, VENDORS[vendor]!, turns.flat())
  const agent = new Agent({
    name: 'tester',
    register: false,
    model: (model ?? VENDORS[vendor]!.model)(server.origin),
    instructions: long,
    tools: [look],
    retry: { attempts: 1 },
    ...options
  })
  const stores = createInProcessStores()
  for (const turn of turns.keys()) {
    const { error } = await collect(
      agent.stream(`Turn ${turn}`, makeContext({ stores, sessionId: 's' }).context)
    )
    t.equal(error, undefined)
  }
  t.strictSame(server.refused, [])
  return server.bodies as Body[]
}

interface Body {
  readonly system?: unknown
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
  readonly prompt_cache_key?: string
}

// The places of marks: `system`, or the number of a message.
const placesIn = ({ system, messages = [] }: Body) => [
  ...(isMarked(system) ? ['system'] : []),
  ...messages.flatMap((message, index) => (isMarked(message.content) ? [index] : []))
]
const isMarked = (content: unknown) => /"(?:cache_control|cachePoint)"/.test(JSON.stringify(content ?? null))
const countIn = (body: object) => JSON.stringify(body).split(/"(?:cache_control|cachePoint)"/).length - 1

const turns = [[calls, {}], [calls, {}], [{ texts: ['Fine.'] }]].map((turn) =>
  turn.map((said) => (said === calls ? said : { texts: ['Fine.'] }))
)

for (const [vendor, model] of [
  ['anthropic', undefined],
  [
    'amazon-bedrock',
    (origin: string) =>
      createAmazonBedrock({ baseURL: origin, apiKey, region: 'us-east-1' })(
        'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
      )
  ]
] as const)
  t.test(`${vendor}: marks after the instructions, the history and the steps`, async (t) => {
    const bodies = await bodiesOf(t, { vendor, turns, ...(model !== undefined && { model }) })
    t.strictSame(bodies.map(placesIn), [
      // The user's message; after a step, its results.
      ['system', 0],
      ['system', 2],
      // A history of one turn: user, call, result, answer.
      ['system', 3, 4],
      ['system', 3, 6],
      // Of two turns: where it ended a turn ago, too.
      ['system', 3, 7, 8]
    ])
    for (const body of bodies) t.ok(countIn(body) <= 4)
  })

t.test(
  'the history is not marked at its end where there are no tools, and its keeping time is told',
  async (t) => {
    const bodies = await bodiesOf(t, {
      options: { tools: [], cache: { ttl: '1h' } },
      turns: [[{}], [{}]].map(say)
    })
    t.strictSame(bodies.map(placesIn), [['system'], ['system', 1]])
    t.match(bodies[0]?.system, [{ cache_control: { type: 'ephemeral', ttl: '1h' } }])
  }
)

const say = () => [{ texts: ['Fine.'] }]

t.test('a history that begins elsewhere in each turn is not marked', async (t) => {
  const three = [say(), say(), say()]
  const history = { compact: false, maxMessages: 2 } as const
  t.strictSame((await bodiesOf(t, { options: { history }, turns: three })).map(placesIn), [
    ['system', 0],
    ['system', 2],
    ['system', 2]
  ])
  t.strictSame((await bodiesOf(t, { options: { history, tools: [] }, turns: three })).map(placesIn), [
    ['system'],
    ['system'],
    ['system']
  ])
  const few = { history: { maxTokens: 3 }, tools: [] }
  t.strictSame((await bodiesOf(t, { options: few, turns: three })).map(placesIn).at(-1), ['system'])
})

t.test('a prompt that no provider keeps is not marked', async (t) => {
  const options = { instructions: 'Be brief.' }
  for (const body of await bodiesOf(t, { options, turns })) t.equal(countIn(body), 0)
  const server = await bodiesOf(t, {
    options: { instructions: 'Be brief.', situation: 'x'.repeat(4_000) },
    turns: [say()]
  })
  t.strictSame(server.map(placesIn), [[0]], 'the instructions alone are too short')
})

t.test('marks of the app stay alone', async (t) => {
  const cacheControl = { type: 'ephemeral' }
  const own = { settings: { providerOptions: { anthropic: { cacheControl } } } }
  for (const body of await bodiesOf(t, { options: own, turns: [say()] })) t.equal(countIn(body), 1)
  const prepared = await bodiesOf(t, {
    options: {
      prepareStep: ({ messages }) => ({
        messages: messages.map((message) => ({
          ...message,
          providerOptions: { anthropic: { cacheControl } }
        }))
      })
    },
    turns: [say()]
  })
  t.strictSame(prepared.map(placesIn), [[0]])
  const replaced = await bodiesOf(t, {
    options: { prepareStep: ({ messages }) => ({ messages: [...messages] }) },
    turns: [say(), say()]
  })
  t.strictSame(replaced.map(placesIn), [
    ['system', 0],
    ['system', 2]
  ])
})

t.test('prompts of a session have the same key for OpenAI, others another', async (t) => {
  const keysOf = async (talk: Talk) =>
    (await bodiesOf(t, { vendor: 'openai responses', turns: [say(), say()], ...talk })).map(
      (body) => body.prompt_cache_key
    )
  const [first, second] = await keysOf({})
  t.match(first, /^[\w-]{32}$/)
  t.equal(second, first)
  t.not((await keysOf({ options: { name: 'other' } }))[0], first)
  t.strictSame(await keysOf({ vendor: 'openai chat' }), [first, first])
  const shared = { cache: { key: () => 'all' } }
  const [all] = await keysOf({ options: shared })
  t.not(all, first)
  t.strictSame(await keysOf({ options: { ...shared, name: 'other' } }), [all, all])
  const settings = { providerOptions: { openai: { promptCacheKey: 'mine' } } }
  t.strictSame(await keysOf({ options: { settings } }), ['mine', 'mine'])
  t.strictSame(await keysOf({ options: { cache: false } }), [undefined, undefined])
  const other = (origin: string) => createOpenAI({ name: 'local', baseURL: `${origin}/v1`, apiKey })('m')
  t.strictSame(await keysOf({ model: other }), [undefined, undefined], 'a server of another')
})

t.test('nothing marks a prompt for other vendors, or with `cache: false`', async (t) => {
  for (const vendor of [
    'google',
    'groq',
    'mistral',
    'xai',
    'openai-compatible',
    'amazon-bedrock',
    'anthropic'
  ]) {
    const options = vendor === 'anthropic' ? { cache: false as const } : {}
    for (const body of await bodiesOf(t, { vendor, turns, options })) {
      t.equal(countIn(body), 0, vendor)
      t.equal(body.prompt_cache_key, undefined, vendor)
    }
  }
})

t.test('marks are on copies: no hook, tool or later call sees them', async (t) => {
  const seen: unknown[] = []
  const model = scriptedModel([{ toolCalls: [{ toolName: 'peek', args: {} }] }, 'Fine.', 'Fine.'], {
    provider: 'anthropic.messages',
    modelId: 'claude-sonnet-4-5'
  })
  const peek = defineTool({
    name: 'peek',
    description: 'Peeks',
    input: Type.Object({}),
    execute: (_args, { messages }) => void seen.push(messages)
  })
  const stores = createInProcessStores()
  const options = {
    name: 'tester',
    register: false,
    model,
    instructions: long,
    tools: [peek],
    prepareStep: ({ messages }: { messages: unknown }) => void seen.push(messages)
  } as const
  for (const input of ['One', 'Two'])
    await new Agent(options).run(input, makeContext({ stores, sessionId: 's' }).context)
  t.ok(seen.length >= 4)
  t.notMatch(JSON.stringify(seen), 'cacheControl')
  const marks = model.calls.map(({ prompt }) => JSON.stringify(prompt).split('cacheControl').length - 1)
  t.strictSame(marks, [2, 2, 3])
})

t.test('options that are none are refused', async (t) => {
  for (const cache of [true, 'on', { ttl: '2h' }, { key: 'x' }, { other: 1 }])
    t.throws(
      () => new Agent({ name: 'a', register: false, model: scriptedModel('x'), cache: cache as never }),
      { code: 'RUN_ERR_BAD_AGENT' }
    )
  const model = scriptedModel('x', { provider: 'openai.responses' })
  const agent = new Agent({ name: 'a', register: false, model, cache: { key: () => 7 as never } })
  const { error } = await collect(agent.stream('Hi', makeContext().context))
  t.match(error, { code: 'RUN_ERR_BAD_AGENT', message: /agent "a".*cache: the function `key`/ })
})
