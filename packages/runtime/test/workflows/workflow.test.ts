import { Type } from '@sinclair/typebox'
import {
  createEventBus,
  createRegistry,
  createRunEngine,
  expose,
  globalRegistry,
  type Runnable
} from '@svc/registry'
import { pause, runnableContract, scriptedRunnable } from '@svc/testing'
import { Agent, Workflow, type WorkflowOptions } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { failing, makeTeam, member, runIn } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

t.test('a workflow is a runnable', async (t) => {
  runnableContract(
    t,
    () =>
      makeWorkflow((flow) =>
        flow
          .step('upper', ({ input }) => (input as string).toUpperCase())
          .step('agent', member('a'))
          .step('both', ({ steps }) => ({ upper: steps.upper, agent: steps.agent }))
      ),
    { makeHanging: () => makeWorkflow((flow) => flow.step('hang', () => new Promise<never>(() => {}))) }
  )
})

t.test('each step is told with its name, the answer once without', async (t) => {
  const agent = new Agent({ name: 'writer', model: scriptedModel(['a draft']), register: false })
  const team = makeTeam({ mode: 'sequence', members: [member('critic')] })
  const heard: unknown[] = []
  const flow = makeWorkflow((steps) =>
    steps
      .step('draft', agent, { input: ({ input }) => `Write about ${input as string}` })
      .step('count', ({ previous }) => ({ length: previous.length }))
      .step('critique', team, { from: 'draft' })
      .step(
        'last',
        member('last', (_context, input) => heard.push(input), { type: 'text', text: 'done' })
      )
  )
  const { said, result, parts } = await runIn(flow, 'tea')
  t.same(said, [
    'draft: a draft',
    'critique/critic: critic answers',
    'critique: critic answers',
    'last: done',
    ': done'
  ])
  t.match(
    parts.find(({ type }) => type === 'structured'),
    { source: ['count'], value: { length: 7 } }
  )
  t.match(result, { text: 'done', structured: null, finishReason: 'stop', usage: { totalTokens: 17 } })
  t.same(heard, ['critic answers'])
})

t.test('an output that is no text is structured, with its JSON as the text', async (t) => {
  const giving = (output: unknown) => runIn(makeWorkflow((flow) => flow.step('a', () => output)))
  t.match((await giving({ a: 1 })).result, { text: '{"a":1}', structured: { a: 1 } })
  t.match((await giving(0)).result, { text: '0', structured: 0 })
  t.match((await giving(undefined)).result, { text: '', structured: null })
  t.match((await giving(null)).result, { text: '', structured: null })
  t.match((await giving(new Date(0))).result, { text: '1970-01-01T00:00:00.000Z', structured: null })
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown
  const secret = {
    toJSON() {
      throw new Error('SECRET')
    }
  }
  for (const bad of [cycle, 1n, () => {}, new Map([[1, 2]]), new Set([1]), deep, secret]) {
    const { error, parts } = await giving(bad)
    t.match(error, { code: 'RUN_ERR_STEP_BAD_OUTPUT', message: /Bad output of the step "a": it / })
    t.notMatch(JSON.stringify(parts), /SECRET/)
  }
})

t.test('its input is what its schema says', async (t) => {
  const flow = makeWorkflow((steps) => steps.step('sum', ({ input }) => input.a + input.b), {
    input: Type.Object({ a: Type.Number(), b: Type.Number() })
  })
  t.match((await runIn(flow, { a: 1, b: 2 })).result, { structured: 3 })
  t.match((await collect(flow.stream({ a: 1 } as never))).error, { code: 'RUN_ERR_BAD_INPUT' })
  t.match(flow.describe(), { kind: 'workflow', steps: ['sum'], input: { type: 'object' } })
})

t.test('a step that fails fails the run, and says which it was', async (t) => {
  const { error, parts } = await runIn(
    makeWorkflow((flow) => flow.step('ok', () => 1).step('bad', () => Promise.reject(new Error('secret'))))
  )
  t.match(error, { code: 'RUN_ERR_FAILED' })
  t.match(
    parts.filter(({ type }) => type === 'error'),
    [{ source: ['bad'] }, { error: { code: 'RUN_ERR_FAILED' } }]
  )
  t.notMatch(JSON.stringify(parts), /secret/)
  const fault = expose({ code: 'LATER', message: 'later', statusCode: 502 })
  t.match((await runIn(makeWorkflow((flow) => flow.step('bad', failing('x', fault))))).error, {
    code: 'LATER',
    statusCode: 502
  })
})

t.test('canceling reaches every step that goes on', async (t) => {
  const aborted: string[] = []
  const wait =
    (name: string) =>
    ({ signal }: { signal: AbortSignal }) =>
      pause(60_000, signal).catch(() => {
        aborted.push(name)
      })
  const engine = createRunEngine({ drainTimeout: 0 })
  const deep = scriptedRunnable([({ signal }) => wait('deep')({ signal })], { name: 'deep' })
  const flow = makeWorkflow((steps) =>
    steps.parallel('all', (inner) => ({
      a: inner.step('a', wait('a')),
      b: inner.map(
        'b',
        () => [1, 2],
        (each) => each.step('c', wait('c'))
      ),
      d: inner.step('d', deep)
    }))
  )
  const run = await engine.start(flow, 'x')
  await pause(10, new AbortController().signal)
  await run.cancel()
  await pause(10, new AbortController().signal)
  t.same(aborted.toSorted(), ['a', 'c', 'c', 'deep'])
  await engine.close()
})

t.test('a stream that is left ends its steps', async (t) => {
  const ended = Promise.withResolvers<string>()
  const flow = makeWorkflow((steps) =>
    steps.parallel('both', (inner) => ({
      left: inner.step('first', () => 'x'),
      right: inner.step('second', ({ signal }) => pause(60_000, signal).finally(() => ended.resolve('ended')))
    }))
  )
  for await (const part of flow.stream('x')) if (part.type === 'text') break
  t.equal(await ended.promise, 'ended')
})

t.test('the bus is told of the run', async (t) => {
  const events = createEventBus()
  const seen: unknown[] = []
  for (const name of ['run.start', 'run.complete', 'run.error'] as const)
    events.on(name, (event) =>
      seen.push([name, event.kind, event.name, 'usage' in event && event.usage.totalTokens])
    )
  const { context } = makeContext({ events })
  await makeWorkflow((flow) => flow.step('a', member('a'))).run('x', context)
  t.same(seen, [
    ['run.start', 'workflow', 'flow', false],
    ['run.start', 'agent', 'a', false],
    ['run.complete', 'agent', 'a', 3],
    ['run.complete', 'workflow', 'flow', 3]
  ])
})

t.test('the bus is told of a failure, whatever was thrown', async (t) => {
  for (const thrown of [undefined, null, 'text', new Error('inside')]) {
    const events = createEventBus()
    const seen: unknown[] = []
    events.on('run.complete', () => seen.push('complete'))
    events.on('run.error', ({ error }) => seen.push(error.code))
    const { context } = makeContext({ events })
    // oxlint-disable-next-line prefer-promise-reject-errors -- what JavaScript may do
    const flow = makeWorkflow((steps) => steps.step('a', () => Promise.reject(thrown)))
    await flow.run('x', context).catch(() => {})
    t.same(seen, ['RUN_ERR_FAILED'], String(thrown))
  }
})

t.test('registers itself, and describes itself', async (t) => {
  const registry = createRegistry()
  const steps = ((flow) =>
    flow
      .step('a', () => 1)
      .loop('b', (inner) => inner.step('c', () => 2), { until: () => true })) as WorkflowOptions['steps']
  const flow = new Workflow({ name: 'f', description: 'does', steps, registry })
  t.equal(registry.get('workflow', 'f'), flow)
  t.same(flow.describe(), { kind: 'workflow', name: 'f', description: 'does', steps: ['a', 'b', 'c'] })
  t.equal(flow.resumable, true)
  t.throws(() => new Workflow({ name: 'f', steps, registry }), { code: 'REG_ERR_NAME_TAKEN' })
  const global = new Workflow({ name: 'global flow', steps })
  t.equal(globalRegistry.get('workflow', 'global flow'), global)
  globalRegistry.remove('workflow', 'global flow')
})

/** The builder, without its types. */
type Untyped = Record<'step' | 'parallel' | 'loop' | 'map' | 'wait', (...args: readonly unknown[]) => Untyped>

t.test('a mistake is an error at construction that names it', async (t) => {
  const agent = { kind: 'agent', name: 'a', run: () => '' } as unknown as Runnable
  const bad: [(flow: Untyped) => unknown, string, RegExp][] = [
    [(flow) => flow.step('a', () => 1).step('a', () => 1), 'RUN_ERR_BAD_WORKFLOW', /duplicate step "a"/],
    [
      (flow) =>
        flow
          .step('a', () => 1)
          .loop('b', (inner: Untyped) => inner.step('a', () => 1), { until: () => true }),
      'RUN_ERR_BAD_WORKFLOW',
      /duplicate step "a"/
    ],
    [
      (flow) => flow.loop('b', () => flow.step('b', () => 1), { until: () => true }),
      'RUN_ERR_BAD_WORKFLOW',
      /duplicate step "b"/
    ],
    [(flow) => flow.step('a', agent, { from: 'x' }), 'RUN_ERR_BAD_WORKFLOW', /a\/from: unknown step "x"/],
    [(flow) => flow.step('a', agent, { from: 'a' }), 'RUN_ERR_BAD_WORKFLOW', /a\/from: a cycle/],
    [
      (flow) => flow.step('a', agent, { from: 'b' }).step('b', agent, { from: 'a' }),
      'RUN_ERR_BAD_WORKFLOW',
      /a\/from: a cycle/
    ],
    [
      (flow) =>
        flow.parallel('p', (inner: Untyped) => ({
          x: inner.step('a', agent),
          y: inner.step('b', agent, { from: 'a' })
        })),
      'RUN_ERR_BAD_WORKFLOW',
      /b\/from/
    ],
    [(flow) => flow, 'RUN_ERR_BAD_WORKFLOW', /steps: at least one is required/],
    [() => undefined, 'RUN_ERR_BAD_WORKFLOW', /returns no flow/],
    [(flow) => flow.parallel('p', () => ({})), 'RUN_ERR_BAD_WORKFLOW', /at least one flow is required/],
    [(flow) => flow.parallel('p', () => ({ a: 1 })), 'RUN_ERR_BAD_WORKFLOW', /p\/a: returns no flow/],
    [
      (flow) => flow.step('a', () => 1, { retry: { attempts: 0 } }),
      'RUN_ERR_BAD_WORKFLOW',
      /a: options\/retry\/attempts/
    ],
    [(flow) => flow.step('a', () => 1, { retries: 1 }), 'RUN_ERR_BAD_WORKFLOW', /a: options\/retries/],
    [
      (flow) => flow.step('a', agent, { output: { type: 'nonsense' } }),
      'RUN_ERR_BAD_WORKFLOW',
      /a\/output cannot be compiled/
    ],
    [(flow) => flow.step('a', () => 1, { timeout: 0 }), 'RUN_ERR_BAD_WORKFLOW', /timeout/],
    [
      (flow) => flow.wait('w', {}),
      'RUN_ERR_BAD_WORKFLOW',
      /w: options: expected an object with sleep or an object with approval, got an empty object$/
    ],
    [
      (flow) => flow.wait('w', { sleep: -1 }),
      'RUN_ERR_BAD_WORKFLOW',
      /w: options\/sleep: expected a number of at/
    ],
    [(flow) => flow.loop('l', (inner: Untyped) => inner, {}), 'RUN_ERR_BAD_WORKFLOW', /until/],
    [(flow) => flow.map('m', [1], (inner: Untyped) => inner), 'RUN_ERR_BAD_WORKFLOW', /items/],
    [(flow) => flow.step('a/b', () => 1), 'REG_ERR_BAD_NAME', /\//],
    [(flow) => flow.step('a', { kind: 'agent', name: 'x' }), 'REG_ERR_BAD_RUNNABLE', /"x"/],
    [
      (flow) => flow.step('a', 'writer'),
      'REG_ERR_BAD_RUNNABLE',
      /^workflow "f": step "a": Not a runnable: it is not an object; expected an agent, .* `run` or `stream`/
    ],
    [(flow) => flow.step('a', {}), 'REG_ERR_BAD_KIND', /^workflow "f": step "a": Bad kind/]
  ]
  for (const [steps, code, message] of bad)
    t.throws(
      () => new Workflow({ name: 'f', register: false, steps: steps as never }),
      { code, message },
      String(steps)
    )
  const steps = () => {
    throw new DOMException('of the builder', 'DataError')
  }
  t.throws(
    () => new Workflow({ name: 'f', register: false, steps }),
    { message: /^of the builder$/ },
    'as it is'
  )
  t.throws(() => new Workflow({ name: 'f', register: false, steps: [] as never }), {
    code: 'RUN_ERR_BAD_WORKFLOW',
    message: /steps/
  })
  t.throws(() => new Workflow({ name: 'f', input: 'text' as never, steps: () => 1 as never }), {
    code: 'RUN_ERR_BAD_WORKFLOW',
    message: /input is not a schema/
  })
  t.throws(() => new Workflow({ name: 'f', members: [], steps: () => 1 as never } as never), {
    code: 'RUN_ERR_BAD_WORKFLOW',
    message: /members/
  })
})
