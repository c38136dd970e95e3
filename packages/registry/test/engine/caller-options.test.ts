import { inspect } from 'node:util'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type RunContext,
  type SessionMessage,
  type StartOptions
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { requireCaller } from '../../src/engine/prepare-start.ts'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const user = (content: string): SessionMessage => ({ role: 'user', content })
const called: SessionMessage = {
  role: 'assistant',
  text: '',
  toolCalls: [{ toolCallId: 'c', toolName: 'x', args: {} }]
}
const result: SessionMessage = { role: 'tool', toolCallId: 'c', toolName: 'x', result: 1 }
const tools = [{ name: 'locate', description: 'Where', input: { type: 'object' } }] as const
const given: StartOptions = {
  metadata: { customer: 'c-17' },
  messages: [user('Hi'), called, result],
  instructions: 'Be brief',
  tools
}

/** A runnable that another process can resume; it ends once it may. */
function resumable(see: (context: RunContext, input: unknown) => void) {
  let mayEnd = false
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'seer',
    resumable: true,
    async *stream(input, context) {
      see(context, input)
      if (!mayEnd) await new Promise(() => {})
      yield { type: 'text', text: 'done' }
    }
  })
  return { runnable, release: () => (mayEnd = true) }
}

t.test('a resumed run gets again what its caller gave', async (t) => {
  const seen: unknown[] = []
  const { runnable, release } = resumable(({ metadata, messages, instructions, clientTools }, input) =>
    seen.push({ input, metadata, messages, instructions, tools: clientTools })
  )
  const stores = createInProcessStores()
  // A dead process does not report failed writes.
  const dead = createRunEngine({ stores: { ...stores, log: { ...stores.log, abandon: () => {} } as never } })
  const run = await dead.start(runnable, undefined, given)
  run.result().catch(() => {})
  release()
  const engine = buildEngine(t, { stores })
  await engine.recover()
  t.equal(await engine.resume(runnable), 1)
  t.match((await partsOf({ parts: (after) => engine.parts(run.runId, after) })).at(-1), { type: 'finish' })
  t.strictSame(seen[0], { input: undefined, ...given })
  t.strictSame(seen[1], seen[0])
  t.match(await engine.find(run.runId), { status: 'completed', metadata: given.metadata })
})

t.test('a child gets it only if it answers the caller', async (t) => {
  const engine = buildEngine(t)
  const seen: unknown[] = []
  const see = ({ metadata, messages, instructions, clientTools }: RunContext) =>
    seen.push([metadata, messages?.length, instructions, clientTools.length])
  const runnable = defineRunnable({
    kind: 'team',
    name: 'crew',
    run(_input, context) {
      const first = context.child('first', { answersCaller: true })
      const other = context.child('other')
      for (const each of [context, first, first.child('deep', { answersCaller: true }), other]) see(each)
      see(other.child('deep', { answersCaller: true }))
      return 'done'
    }
  })
  await (await engine.start(runnable, 'x', given)).result()
  const { metadata } = given
  const all = [metadata, 3, 'Be brief', 1]
  t.strictSame(seen, [all, all, all, [metadata, 0, undefined, 0], [metadata, 0, undefined, 0]])
})

t.test(
  'a child may have another caller, and a delivery, which pass to those that answer in its place',
  async (t) => {
    const engine = buildEngine(t)
    const caller = { instructions: 'Be loud', tools: [] }
    const delivery = { interrupted: AbortSignal.abort(), settle: () => ({ text: '', interrupted: true }) }
    const own = { answersCaller: true, unsourced: true }
    const runnable = defineRunnable({
      kind: 'team',
      name: 'crew',
      run(_input, context) {
        t.equal(context.delivery, undefined)
        const turn = context.child('turn', { ...own, caller, delivery })
        const see = (name: string, { delivery, instructions, clientTools }: RunContext, wanted: unknown[]) =>
          t.strictSame([delivery, instructions, clientTools.length], wanted, name)
        see('turn', turn, [delivery, 'Be loud', 0])
        see('deep', turn.child('deep', own), [delivery, 'Be loud', 0])
        see('a member with its own source', turn.child('m', { answersCaller: true }), [
          undefined,
          'Be loud',
          0
        ])
        see('a tool', turn.child('c', { unsourced: true }), [undefined, undefined, 0])
        see('next turn', context.child('next', own), [undefined, 'Be brief', 1])
        return 'done'
      }
    })
    await (await engine.start(runnable, 'x', { instructions: 'Be brief', tools })).result()
  }
)

t.test('another caller is checked as the first one is', async (t) => {
  const agent = { kind: 'agent', name: 'a', toolNames: ['locate'] } as const
  t.throws(() => requireCaller(agent, { tools }), { code: 'RUN_ERR_TOOL_NAME_TAKEN' })
  t.throws(() => requireCaller({ kind: 'workflow' }, { tools }), { code: 'RUN_ERR_NO_CONVERSATION' })
  t.throws(() => requireCaller({ kind: 'agent' }, { tools: [...tools, ...tools] }), {
    code: 'RUN_ERR_BAD_INPUT'
  })
  t.throws(() => requireCaller({ kind: 'agent' }, { instructions: 1 as never }), {
    code: 'RUN_ERR_BAD_INPUT'
  })
  t.doesNotThrow(() => requireCaller(agent, { instructions: 'Be brief', tools: [] }))
  t.doesNotThrow(() => requireCaller({ kind: 'workflow' }, { tools: [] }))
})

t.test('the caller’s key in any of it is stored nowhere, and in no part or event', async (t) => {
  const key = 'sk-caller-0123456789'
  const text = `My key is ${key}.`
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const events: unknown[] = []
  for (const name of ['run.start', 'run.complete'] as const)
    engine.events.on(name, (event) => events.push(event))
  let seen = ''
  const { runnable, release } = resumable(({ messages, instructions, clientTools, metadata }) => {
    seen = JSON.stringify({ messages, instructions, clientTools })
    t.notOk(JSON.stringify(metadata).includes(key), 'metadata is for others to read')
  })
  const run = await engine.start(runnable, text, {
    metadata: { note: text, [key]: 'v' },
    messages: [user(text)],
    instructions: text,
    tools: [{ name: 'a', description: text, input: { type: 'object', title: text } }],
    redact: createRedact([key])
  })
  t.equal(seen.split(key).length - 1, 4, 'the run works with what was given')
  const checkpoint = await stores.checkpoints.load(run.runId)
  t.match(checkpoint, { state: { messages: [{ content: 'My key is [redacted].' }] } })
  release()
  await run.cancel()
  const kept = [checkpoint, await engine.get(run.runId), await partsOf(run), events]
  t.ok(events.length >= 1)
  t.notOk(inspect(kept, { depth: 20, maxStringLength: null }).includes(key))
})

t.test('metadata is in every event of the run', async (t) => {
  const engine = buildEngine(t)
  const seen: unknown[] = []
  for (const name of ['run.start', 'run.stream.chunk', 'run.complete', 'run.error'] as const)
    engine.events.on(name, (event) => seen.push([name, event.metadata]))
  const echo = defineRunnable({ kind: 'agent', name: 'echo', run: (input) => String(input) })
  const failing = defineRunnable({
    kind: 'agent',
    name: 'failing',
    run: () => Promise.reject(new Error('no'))
  })
  const { metadata } = given
  await (await engine.start(echo, 'x', { metadata })).result()
  await t.rejects((await engine.start(failing, 'x', { metadata })).result())
  await (await engine.start(echo, 'x', { metadata: {} })).result()
  t.strictSame(seen, [
    ['run.start', metadata],
    ['run.stream.chunk', metadata],
    ['run.complete', metadata],
    ['run.start', metadata],
    ['run.error', metadata],
    ['run.start', undefined],
    ['run.stream.chunk', undefined],
    ['run.complete', undefined]
  ])
})

t.test('later changes of the metadata do not change the run', async (t) => {
  const engine = buildEngine(t)
  const metadata: Record<string, string> = { a: 'b' }
  const echo = defineRunnable({ kind: 'agent', name: 'echo', run: (input) => String(input) })
  const run = await engine.start(echo, 'x', { metadata })
  metadata['a'] = 'c'
  await run.result()
  t.strictSame((await engine.get(run.runId))?.metadata, { a: 'b' })
})

t.test('bad values are refused in the app’s own starts, too', async (t) => {
  const engine = buildEngine(t)
  const echo = defineRunnable({ kind: 'agent', name: 'echo', run: (input) => String(input) })
  const cyclic: Record<string, unknown> = { role: 'user' }
  cyclic['content'] = cyclic
  const bad: unknown[] = [
    { metadata: null },
    { metadata: 5 },
    { metadata: { a: 1 } },
    { metadata: JSON.parse('{"__proto__":"a"}') as unknown },
    { messages: null },
    { messages: [cyclic] },
    { messages: [user('\ud800')] },
    { messages: [called, { ...result, toolName: 'y' }] },
    { messages: [called, { ...result, error: { code: 'E', message: 'both' } }] },
    { instructions: 5 },
    { tools: [{ ...tools[0], input: { type: 'object', cyclic } }] }
  ]
  for (const options of bad)
    await t.rejects(engine.start(echo, 'x', options as StartOptions), { code: 'RUN_ERR_BAD_INPUT' })
  t.equal(engine.active, 0)
})
