import { Type } from '@sinclair/typebox'
import { createEventBus, createInProcessStores, type ContentPart, type SessionMessage } from '@svc/registry'
import { Agent, defineTool, Team, toolContent } from '@svc/runtime'
import t from 'tap'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { createRandom } from '../helpers/random.ts'
import { startVendor, VENDORS, type Vendor } from '../helpers/vendors/vendors.ts'
import type { Said } from '../helpers/vendors/wires.ts'

// Each vendor's package sends the conversation to a server that judges every request as the vendor does.

const HALF = '\ud83d'

/** A turn: what the user says, what the vendor answers, and whether the run fails. */
interface Turn {
  readonly input?: string | ContentPart[]
  readonly said: readonly (Said | number)[]
  readonly fails?: boolean
  readonly maxSteps?: number
}

const call = (how: string, name = 'look'): Said => ({
  call: { id: 'sameIdAga', name, args: JSON.stringify({ how }) }
})

const TURNS = ({ oddReason }: Vendor): readonly Turn[] => [
  { said: [{ texts: ['Plain', ' answer.'] }] },
  { said: [{}] },
  { said: [{ texts: ['  ', '\n', '\t '] }] },
  { said: [{ texts: [`Half${HALF}`, ' of a pair.'] }] },
  { said: [{ texts: [HALF, '\ude00 in two pieces.'] }] },
  { said: [{ texts: ['No usage.'], usage: 'none' }] },
  { said: [{ texts: ['  '], ...call('half') }, { texts: ['Seen.'] }] },
  { said: [call('nested'), call('blank'), { texts: ['Seen.'] }] },
  { said: [call('parts'), call('nothing'), { texts: [' '] }] },
  { said: [call('throws'), call('silent'), {}] },
  { said: [call('half', 'ödd.tool ✓'), { texts: ['There is none.'] }] },
  { said: [{ call: { id: 'otherIdAg', name: 'look', args: '{"how":' } }, { texts: ['Broken.'] }] },
  { said: [{ call: { id: 'nullIdAga', name: 'list', args: 'null' } }, { texts: ['Listed.'] }] },
  { said: [{ call: { id: '', name: 'list', args: '' } }, { texts: ['Listed.'] }] },
  { said: [{ overloaded: true }, { texts: ['After an overload.'] }] },
  { said: [503, { texts: ['After a refusal.'] }] },
  { said: [{ texts: ['Hel'], overloaded: true }], fails: true },
  { said: [{ reason: oddReason }, { texts: ['After an odd end.'] }] },
  { said: [call('half')], maxSteps: 1 },
  {
    input: [
      { type: 'text', text: ' ' },
      { type: 'text', text: `Two parts${HALF}` }
    ],
    said: [{ texts: ['Read.'] }]
  }
]

const look = defineTool({
  name: 'look',
  description: `Looks${HALF}`,
  input: Type.Object({ how: Type.String() }),
  execute: ({ how }): unknown => {
    if (how === 'half') return `a page${HALF}`
    if (how === 'nested') return { pages: [{ [`key${HALF}`]: `text${HALF}` }] }
    if (how === 'blank') return ' \n'
    if (how === 'parts') return toolContent([{ type: 'text', text: ' ' }])
    if (how === 'throws') throw new Error(`failed${HALF}`)
    if (how === 'silent') throw new Error(' ')
    return undefined
  }
})
const list = defineTool({ name: 'list', description: 'Lists', input: Type.Object({}), execute: () => [] })

const shuffled = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => [random(), item] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, item]) => item)

const textOf = (message: SessionMessage) =>
  message.role === 'user' ? JSON.stringify(message.content) : message.role === 'assistant' ? message.text : ''

for (const [name, vendor] of Object.entries(VENDORS)) {
  t.test(`${name}: a session of 20 turns with odd answers`, async (t) => {
    for (const seed of [1]) {
      const turns = shuffled(TURNS(vendor), createRandom(seed))
      const said: (Said | number)[] = []
      const { origin, refused, bodies } = await startVendor(t, vendor, said)
      const stores = createInProcessStores()
      const make = (maxSteps: number) =>
        new Agent({
          name: 'tester',
          model: vendor.model(origin),
          tools: [look, list],
          instructions: ' ',
          history: { maxMessages: 1_000 },
          retry: { attempts: 2, baseDelay: 1, maxDelay: 5 },
          maxSteps,
          register: false
        })
      const expected: string[] = []
      for (const [at, turn] of turns.entries()) {
        said.splice(0, said.length, ...turn.said)
        const { context } = makeContext({ stores, sessionId: 's1' })
        const input = turn.input ?? `Question ${at}.${HALF}`
        const run = await collect(make(turn.maxSteps ?? 10).stream(input, context))
        t.equal(run.error?.code, turn.fails ? 'RUN_ERR_MODEL_STREAM_BROKEN' : undefined, `${seed}, ${at}`)
        if (!turn.fails)
          expected.push(turn.input === undefined ? `Question ${at}.` : 'Two parts', run.text.trim())
      }
      t.strictSame(refused, [], `${name} refuses nothing`)
      const { context } = makeContext({ stores, sessionId: 's1' })
      const { registry, sessionOwner: owner } = context
      const key = { registry, owner, kind: 'agent', name: 'tester', sessionId: 's1' } as const
      const kept = (await stores.sessions.load(key, 1_000)).map(textOf).join('\n')
      for (const text of expected)
        t.ok(kept.includes(text.toWellFormed()), `the session has ${JSON.stringify(text)}`)
      t.ok(kept.isWellFormed())
      const last = JSON.stringify(bodies.at(-1))
      for (const text of expected.slice(0, -1))
        t.ok(
          last.includes(JSON.stringify(text.toWellFormed()).slice(1, -1)),
          `the last request has ${JSON.stringify(text)}`
        )
    }
  })

  t.test(`${name}: any history of a client`, async (t) => {
    const { origin, refused } = await startVendor(t, vendor, [])
    const tool = (toolCallId: string, result: unknown) =>
      ({ role: 'tool', toolCallId, toolName: 'team.newsroom', result }) as const
    const called = (text: string, ...ids: string[]) =>
      ({
        role: 'assistant',
        text,
        toolCalls: ids.map((toolCallId) => ({
          toolCallId,
          toolName: 'team.newsroom',
          args: { [HALF]: null }
        }))
      }) as const
    const histories: SessionMessage[][] = [
      [{ role: 'assistant', text: '' }],
      [{ role: 'assistant', text: 'How can I help?' }],
      [
        { role: 'user', content: 'One' },
        { role: 'assistant', text: '' },
        { role: 'user', content: 'Two' }
      ],
      [
        { role: 'user', content: ' ' },
        { role: 'assistant', text: 'One' },
        { role: 'assistant', text: `Two${HALF}` },
        { role: 'user', content: [{ type: 'text', text: '\n' }] },
        { role: 'assistant', text: 'Three' }
      ],
      [
        tool('lost', 1),
        { role: 'user', content: 'One' },
        called(' ', 'functions.look:0', 'functions.look:1'),
        tool('functions.look:0', HALF),
        tool('functions.look:1', ''),
        called('', 'functions.look:0', 'unanswered'),
        tool('functions.look:0', ' '),
        { role: 'assistant', text: ' ' }
      ],
      [
        { role: 'user', content: 'One' },
        called('Look', `call_${'x'.repeat(80)}`),
        tool(`call_${'x'.repeat(80)}`, { [HALF]: HALF })
      ]
    ]
    for (const [at, messages] of histories.entries()) {
      const agent = new Agent({ name: 'tester', model: vendor.model(origin), tools: [list], register: false })
      const { context } = makeContext({ messages, events: createEventBus() })
      t.equal((await collect(agent.stream('Go on', context))).text, 'Done.', `${at}`)
    }
    t.strictSame(refused, [])
  })
}

for (const [name, vendor] of Object.entries(VENDORS))
  t.test(`${name}: corrections, members, memories and steps that the app prepares`, async (t) => {
    const said: (Said | number)[] = []
    const { origin, refused } = await startVendor(t, vendor, said)
    const model = vendor.model(origin)
    const options = { model, register: false, retry: { attempts: 1 } } as const
    const say = async (runnable: Agent | Team, ...answers: Said[]) => {
      said.splice(0, said.length, ...answers)
      const run = await collect(runnable.stream(`Question${HALF}`, makeContext().context))
      t.equal(run.error, undefined)
      return run
    }
    const strict = new Agent({ ...options, name: 'strict', output: Type.Object({ n: Type.Number() }) })
    for (const bad of [' ', `no JSON${HALF}`]) {
      const corrected = await say(strict, { texts: [bad] }, { texts: ['{"n":1}'] })
      t.match(corrected.ofType('structured'), [{ value: { n: 1 } }])
    }

    const member = (text: string, of: string) => ({
      kind: 'agent' as const,
      name: of,
      description: `Answers${HALF}`,
      stream: async function* () {
        yield { type: 'text' as const, text }
      }
    })
    const members = [member(' ', 'a.b'), member(`page${HALF}`, 'a_b'), member('x', '3d-artist')]
    await say(new Team({ ...options, name: 'merged', mode: 'parallel', members }), { texts: ['Both.'] })
    const ask = (of: string): Said => ({ call: { id: 'idOfCall1', name: of, args: '{"message":"Go"}' } })
    const led = new Team({ ...options, name: 'led', mode: 'coordinate', members })
    const asked = await say(led, ask('a_b'), ask('a_b_2'), ask('_3d-artist'), { texts: ['Done.'] })
    t.strictSame(
      asked.ofType('tool.result').map(({ result }) => result),
      [`page${HALF}`.toWellFormed(), ' ', 'x']
    )

    const memory = { retrieve: () => `Remembered${HALF}`, store: () => [] }
    const prepared = new Agent({
      ...options,
      name: 'prepared',
      memory,
      prepareStep: ({ messages }) => ({
        instructions: ' ',
        messages: [{ role: 'assistant', content: [{ type: 'text', text: HALF }] }, ...messages]
      })
    })
    await say(prepared, { texts: ['Done.'] })
    await say(new Agent({ ...options, name: 'remembers', memory, instructions: '\n' }), { texts: ['Done.'] })
    t.strictSame(refused, [])
  })
