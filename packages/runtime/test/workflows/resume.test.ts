import { createRegistry, createRunEngine } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { pay } from '../helpers/make-agent.ts'
import { member } from '../helpers/make-team.ts'
import { crashIn, goOn, makeWorkflow } from '../helpers/make-workflow.ts'

/** Steps that say when they were done, the named one only in the second process. */
function recorder(stopsAt: string) {
  const done: string[] = []
  let stopped = false
  return {
    done,
    stopped: () => stopped,
    act: (name: string) => async () => {
      done.push(name)
      if (name !== stopsAt || stopped) return name
      stopped = true
      return new Promise<string>(() => {})
    }
  }
}

t.test('goes on in every kind of step, and repeats only what was under way', async (t) => {
  const names = ['first', 'left', 'right', 'yes', 'round 0', 'round 1', 'item 0', 'item 1', 'item 2', 'last']
  for (const stopsAt of names) {
    const { done, stopped, act } = recorder(stopsAt)
    let chosen = 0
    const flow = makeWorkflow((steps) =>
      steps
        .step('first', act('first'))
        .parallel('both', (inner) => ({
          left: inner.step('left', act('left')),
          right: inner.step('right', act('right'))
        }))
        .branch(
          'way',
          () => (++chosen === 1 ? 'yes' : 'no'),
          (inner) => ({
            yes: inner.step('yes', act('yes')),
            no: inner.step('no', act('no'))
          })
        )
        .loop('rounds', (inner) => inner.step('round', ({ index }) => act(`round ${index}`)()), {
          until: ({ index }) => index === 1
        })
        .map(
          'items',
          () => [0, 1, 2],
          (inner) => inner.step('item', ({ index }) => act(`item ${index}`)()),
          { concurrency: 1 }
        )
        .step('last', act('last'))
    )
    const { stores, runId } = await crashIn(flow, 'x', stopped)
    const { result, record } = await goOn(flow, stores, runId)
    t.equal(result?.text, 'last', stopsAt)
    t.match(record, { status: 'completed', epoch: 2 })
    t.same(done.toSorted(), [...names, stopsAt].toSorted(), `only ${stopsAt} is done again`)
  }
})

t.test('usage and calls of before count, what was half said is void', async (t) => {
  let hangs = true
  const agent = new Agent({ name: 'a', model: scriptedModel(['whole']), register: false })
  const half = member(
    'half',
    { type: 'text', text: 'ha' },
    // Nobody follows the log: the text is written with what follows.
    { type: 'data', name: 'mark', value: 1 },
    async () => {
      if (!hangs) return
      hangs = false
      await new Promise(() => {})
    },
    { type: 'text', text: 'lf' }
  )
  const flow = makeWorkflow((steps) => steps.step('agent', agent).step('half', half))
  const { stores, runId } = await crashIn(flow, 'x', () => !hangs)
  const { result, parts } = await goOn(flow, stores, runId)
  t.match(result, { text: 'half', usage: { totalTokens: 14 } })
  t.same(
    parts.flatMap((part) =>
      part.source?.[0] === 'half' && (part.type === 'text' || part.type === 'step.start')
        ? [part.type === 'text' ? part.text : `attempt ${part.attempt}`]
        : []
    ),
    ['attempt 1', 'ha', 'attempt 2', 'attempt 1', 'ha', 'lf']
  )
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1)
  )
})

t.test('an answer that is half written is continued', async (t) => {
  const flow = makeWorkflow((steps) => steps.step('a', () => ({ n: 1 })))
  const { stores, runId } = await crashIn(flow, 'x', () => true, { appends: 3 })
  t.match(await stores.runs.get(runId), { status: 'working' })
  const { result, parts } = await goOn(flow, stores, runId)
  t.match(result, { text: '{"n":1}', structured: { n: 1 } })
  t.same(
    parts.map(({ type, source }) => (source ? `a: ${type}` : type)),
    ['start', 'a: structured', 'text', 'structured', 'finish']
  )
})

t.test('a tool of an agent in a step still waits for its approval', async (t) => {
  let calls = 0
  // As providers do: another id for every call.
  const model = scriptedModel(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? 'done'
      : { toolCalls: [{ toolName: 'pay', args: {}, toolCallId: `call-${++calls}` }] }
  )
  const agent = new Agent({ name: 'payer', model, tools: [pay], register: false })
  const flow = makeWorkflow((steps) => steps.step('pay', agent))
  const { stores, runId, engine: dead } = await crashIn(flow, 'x', () => calls === 1)
  t.teardown(() => dead.close())
  const answers: string[] = []
  const { result, parts } = await goOn(flow, stores, runId, async (engine) => {
    for await (const part of engine.parts(runId)) {
      if (part.type !== 'tool.approval.request') continue
      answers.push(part.approvalId)
      await engine.answer(part.approvalId, { approved: true })
    }
  })
  t.same(answers, [`${runId}.1`])
  t.equal(calls, 1, 'the model is not called again')
  t.match(result, { text: 'done', finishReason: 'stop' })
  t.equal(parts.filter(({ type }) => type === 'tool.result').length, 1)
})

t.test('a workflow within a workflow goes on inside', async (t) => {
  const { done, stopped, act } = recorder('b')
  const inner = makeWorkflow((flow) => flow.step('a', act('a')).step('b', act('b')), { name: 'inner' })
  const outer = makeWorkflow((flow) =>
    flow.map(
      'each',
      () => [1, 2],
      (each) => each.step('inner', inner),
      { concurrency: 1 }
    )
  )
  const { stores, runId } = await crashIn(outer, 'x', stopped)
  const { result } = await goOn(outer, stores, runId)
  t.same(result?.structured, ['b', 'b'])
  t.same(done, ['a', 'b', 'b', 'a', 'b'])
})

t.test('a workflow that a leader delegates to twice does its steps twice', async (t) => {
  const { done, act } = recorder('')
  const inner = makeWorkflow((flow) => flow.step('a', act('a')), { name: 'inner' })
  const model = scriptedModel([
    {
      toolCalls: [
        { toolName: 'inner', args: { message: 'x' } },
        { toolName: 'inner', args: { message: 'x' }, toolCallId: 'c' }
      ]
    },
    'ok'
  ])
  const { makeTeam, runIn } = await import('../helpers/make-team.ts')
  await runIn(makeTeam({ mode: 'coordinate', members: [inner], model }))
  t.same(done, ['a', 'a'])
})

t.test('the registry’s plugin goes on with it once its name is there', async (t) => {
  const { default: Fastify } = await import('fastify')
  const { default: runtime } = await import('@svc/runtime')
  const { done, stopped, act } = recorder('b')
  const steps = () => makeWorkflow((flow) => flow.step('a', act('a')).step('b', act('b')))
  const { stores, runId } = await crashIn(steps(), 'x', stopped)
  const registry = createRegistry()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(runtime, { registry, stores })
  await app.ready()
  t.match(await app.runs.get(runId), { status: 'working', epoch: 1 })
  registry.add(steps())
  for await (const _ of app.runs.parts(runId));
  t.match(await app.runs.get(runId), { status: 'completed', epoch: 2 })
  t.same(done, ['a', 'b', 'b'])
})

t.test('a dead process that wakes up can write nothing', async (t) => {
  const wake = Promise.withResolvers<string>()
  let calls = 0
  const flow = makeWorkflow((steps) =>
    steps
      .step('a', () => (++calls === 1 ? wake.promise : 'second'))
      .step('b', ({ previous }) => `${previous} ${++calls}`)
  )
  const { stores, runId } = await crashIn(flow, 'x', () => calls === 1)
  const { result } = await goOn(flow, stores, runId)
  wake.resolve('first')
  await new Promise((resolve) => setTimeout(resolve, 10))
  t.equal(result?.text, 'second 3')
  t.equal(calls, 3)
  t.match(await createRunEngine({ stores }).get(runId), { result: { text: 'second 3' } })
})
