import { readFile } from 'node:fs/promises'
import { Type, type TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { createEventBus, type EventBus, type EventMap } from '@svc/registry'
import { defineTool, EVENT_SCHEMAS, events as defaultEvents, type RuntimeEvents } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeAgent, makeContext } from '../helpers/make-agent.ts'
import { makeTeam } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const NAMES = Object.keys(EVENT_SCHEMAS) as (keyof RuntimeEvents)[]
const add = defineTool({
  name: 'add',
  description: 'Adds',
  input: Type.Object({ a: Type.Number() }),
  execute: ({ a }) => a + 1
})
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: Type.Object({}),
  execute: () => 1,
  approval: true
})

/** Records the events of a bus, and checks each against its schema. */
function listen(t: Pick<Tap, 'strictSame'>, bus: EventBus) {
  const seen: { event: string; payload: Record<string, unknown> }[] = []
  for (const name of NAMES) {
    const schema: TSchema = EVENT_SCHEMAS[name]
    const check = TypeCompiler.Compile(schema)
    bus.on(name, (payload) => {
      t.strictSame([...check.Errors(payload)], [], name)
      seen.push({ event: name, payload: { ...payload } })
    })
  }
  return seen
}
type Tap = typeof t

t.test('every documented event has a schema, those of model calls included', async (t) => {
  t.strictSame(
    new Set(NAMES),
    new Set([
      'browser.action',
      'browser.blocked',
      'browser.done',
      'browser.error',
      'browser.step',
      'context.assembled',
      'context.compacted',
      'context.overflow',
      'guard.verdict',
      'memory.error',
      'memory.extract',
      'memory.recalled',
      'memory.reembedded',
      'memory.stored',
      'model.call',
      'model.error',
      'model.result',
      'run.complete',
      'run.error',
      'run.start',
      'run.stream.chunk',
      'skill.learned',
      'skill.loaded',
      'tool.approval.request',
      'tool.approval.response',
      'tool.call',
      'tool.error',
      'tool.result',
      'voice.session.end',
      'voice.session.start',
      'voice.turn',
      'voice.interrupt',
      'voice.reconnect',
      'voice.tool.call',
      'voice.tool.result'
    ])
  )
  for (const name of NAMES)
    t.strictSame(
      EVENT_SCHEMAS[name].required?.slice(0, 5),
      ['runId', 'name', 'kind', 'at', 'idempotencyKey'],
      name
    )
})

t.test('the bus is typed by the schemas', async (t) => {
  const bus = createEventBus()
  const payload: EventMap['skill.loaded'] = {
    runId: 'r',
    name: 'n',
    kind: 'agent',
    at: 1,
    idempotencyKey: 'r',
    skill: 's'
  }
  bus.on('skill.loaded', ({ skill }) => t.equal(skill satisfies string, 's'))
  bus.emit('skill.loaded', payload)
  // @ts-expect-error -- unknown event
  bus.has('skill.forgotten')
})

t.test('a run emits its start, chunks, tools and end', async (t) => {
  const { agent } = makeAgent(
    [
      { toolCalls: [{ toolName: 'add', args: { a: 1 } }, { toolName: 'none' }, { toolName: 'pay' }] },
      { text: ['x', 'y'] }
    ],
    { tools: [add, pay] }
  )
  const { context } = makeContext({ sessionId: 's' })
  const seen = listen(t, context.events)
  await agent.run('Go', context)
  for (const { payload } of seen) {
    t.match(payload, { runId: context.runId, name: 'tester', kind: 'agent' })
    t.ok(Math.abs((payload['at'] as number) - Date.now()) < 10_000)
  }
  const of = (name: string) => seen.filter(({ event }) => event === name).map(({ payload }) => payload)
  t.equal(seen[0]?.event, 'run.start')
  t.match(of('tool.call'), [{ toolName: 'add', args: { a: 1 } }, { toolName: 'none' }, { toolName: 'pay' }])
  t.match(of('tool.result'), [{ toolName: 'add', result: 2 }])
  t.match(of('tool.approval.request'), [{ toolName: 'pay', args: {} }])
  t.match(of('tool.approval.response'), [{ toolName: 'pay', approved: false }])
  t.equal(of('tool.error').length, 2)
  t.match(of('run.stream.chunk'), [{ text: 'x' }, { text: 'y' }])
  t.match(of('model.call'), [
    { step: 0, attempt: 1, provider: 'scripted', model: 'scripted' },
    { step: 1, attempt: 1 }
  ])
  t.match(of('model.result'), [
    { finishReason: 'tool-calls' },
    { finishReason: 'stop', usage: { promptTokens: 10 } }
  ])
  t.match(of('run.complete'), [{ sessionId: 's', finishReason: 'stop', usage: { promptTokens: 20 } }])
  t.equal(seen.at(-1)?.event, 'run.complete')
})

t.test('a failed run, and a canceled one', async (t) => {
  const failing = makeContext()
  const seen = listen(t, failing.context.events)
  await collect(
    makeAgent({ rejects: { statusCode: 400, message: 'SECRET' } }).agent.stream('Hi', failing.context)
  )
  t.match(seen.at(-1), {
    event: 'run.error',
    payload: { error: { code: 'RUN_ERR_MODEL_REFUSED', retryable: false } }
  })
  t.notMatch(JSON.stringify(seen), 'SECRET')
  const left = makeContext()
  const events = listen(t, left.context.events)
  for await (const part of makeAgent('Hello.').agent.stream('Hi', left.context))
    if (part.type === 'text') break
  t.match(events.at(-1), { event: 'run.complete', payload: { finishReason: 'canceled' } })
})

t.test('every attempt of a model call emits an end, however it ends', async (t) => {
  const retry = { baseDelay: 0 }
  const { context } = makeContext()
  const seen = listen(t, context.events)
  await makeAgent([{ rejects: { statusCode: 500 } }, 'Hello.'], { retry }).agent.run('Hi', context)
  const left = makeAgent({ text: ['a', 'b'], delay: 5 })
  for await (const part of left.agent.stream('Hi', context)) if (part.type === 'text') break
  await collect(makeAgent({ hangs: 'stream' }, { timeout: { firstToken: 20 } }).agent.stream('Hi', context))
  const emitted = seen
    .filter(({ event }) => event.startsWith('model.'))
    .map(({ event, payload }) => [
      event,
      payload['attempt'],
      (payload['error'] as { code?: string } | undefined)?.code
    ])
  t.strictSame(emitted, [
    ['model.call', 1, undefined],
    ['model.error', 1, 'RUN_ERR_MODEL_FAILED'],
    ['model.call', 2, undefined],
    ['model.result', 2, undefined],
    ['model.call', 1, undefined],
    ['model.error', 1, 'RUN_ERR_CANCELED'],
    ['model.call', 1, undefined],
    ['model.error', 1, 'RUN_ERR_FIRST_TOKEN_TIMEOUT']
  ])
})

t.test('events of a member name the member', async (t) => {
  const { context } = makeContext()
  const seen = listen(t, context.events)
  await makeAgent('Hello.').agent.run('Hi', context.child('team').child('tester'))
  t.ok(seen.length > 3)
  for (const { payload } of seen) t.strictSame(payload['source'], ['team', 'tester'])
})

t.test('a throwing listener cannot affect a run', async (t) => {
  const { context, logged } = makeContext()
  for (const name of NAMES)
    context.events.on(name, () => {
      throw new Error('listener')
    })
  t.equal((await makeAgent('Hello.').agent.run('Hi', context)).text, 'Hello.')
  t.ok(logged.length >= 3)
})

t.test('agents outside of an app emit on `events`', async (t) => {
  const completed = Promise.withResolvers<string>()
  t.teardown(defaultEvents.on('run.complete', ({ name }) => completed.resolve(name)))
  await makeAgent('Hello.').agent.run('Hi')
  t.equal(await completed.promise, 'tester')
})

t.test('the README lists every event', async (t) => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  for (const name of Object.keys(EVENT_SCHEMAS)) t.ok(readme.includes(`\`${name}\``), name)
})

t.test('teams and workflows emit their choices and answers', async (t) => {
  const { context } = makeContext()
  const seen = listen(t, context.events)
  const model = scriptedModel([{ toolCalls: [{ toolName: 'route', args: { member: 'tester' } }] }])
  const crew = makeTeam({ mode: 'route', members: [makeAgent('Hello.').agent], model })
  await makeWorkflow((flow) => flow.step('ask', crew).step('count', ({ previous }) => previous.length)).run(
    'Hi',
    context
  )
  const emitted = seen.flatMap(({ event, payload: { kind, name, source, text = '' } }) =>
    /^(?:model|context)\./.test(event)
      ? []
      : [[event, kind, name, (source as string[] | undefined)?.join('/'), text]]
  )
  t.strictSame(emitted, [
    ['run.start', 'workflow', 'flow', undefined, ''],
    ['run.start', 'team', 'crew', 'ask', ''],
    ['tool.call', 'team', 'crew', 'ask', ''],
    ['tool.result', 'team', 'crew', 'ask', ''],
    ['run.start', 'agent', 'tester', 'ask', ''],
    ['run.stream.chunk', 'agent', 'tester', 'ask', 'Hello.'],
    ['run.stream.chunk', 'team', 'crew', 'ask', 'Hello.'],
    ['run.complete', 'agent', 'tester', 'ask', ''],
    ['run.complete', 'team', 'crew', 'ask', ''],
    ['run.stream.chunk', 'workflow', 'flow', undefined, '6'],
    ['run.complete', 'workflow', 'flow', undefined, '']
  ])
})
