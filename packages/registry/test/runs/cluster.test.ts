import { setImmediate as turn } from 'node:timers/promises'
import {
  defineRunnable,
  type NumberedPart,
  type RunContext,
  type RunEngine,
  type RunEngineOptions,
  type Runnable
} from '@svc/registry'
import { createTestCluster, scriptedRunnable, type TestNode } from '@svc/registry/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

// The timers of engines do not keep a process alive.
const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

interface Member {
  readonly node: TestNode
  readonly engine: RunEngine
}

/** Engines on shared stores, each with these runnables, and their take-over begun. */
async function cluster(
  t: Test,
  runnables: readonly Runnable[],
  size = 2,
  options: RunEngineOptions = {}
): Promise<Member[]> {
  const shared = createTestCluster()
  const members: Member[] = []
  for (let count = 0; count < size; count++) {
    const node = shared.join()
    const engine = buildEngine(t, { ...options, stores: node.stores })
    for (const runnable of runnables) await engine.resume(runnable)
    await engine.recover()
    members.push({ node, engine })
  }
  return members
}

/** A workflow of steps, of which the test can hold some; it records which process executed each. */
function steps(names: readonly string[], act: (name: string, context: RunContext) => unknown): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      for (const name of names) {
        let text = ''
        await context.step(name, async () => void (text = `${String(await act(name, context))};`))
        // A recorded step has written its text.
        if (text !== '') yield { type: 'text', text }
      }
    }
  })
}

const textOf = (parts: readonly NumberedPart[]) =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('')

function requireWhole(t: Test, parts: readonly NumberedPart[]): void {
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1),
    'no gap, nothing twice'
  )
}

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (err: { code: string }) => err.code
  )

t.test('another node resumes the runs of a dead one; its steps are not repeated', async (t) => {
  const done: string[] = []
  const hold = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const flow = steps(['one', 'two', 'three'], async (name) => {
    done.push(name)
    if (name === 'two' && done.length === 2) {
      held.resolve()
      await hold.promise
    }
    return name
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  const elsewhere = partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  const here = partsOf(run)
  await held.promise
  first.node.declareDead()
  for (const parts of [await elsewhere, await here]) {
    requireWhole(t, parts)
    t.equal(textOf(parts), 'one;two;three;')
  }
  t.same(done, ['one', 'two', 'two', 'three'], 'only the step in progress is repeated')
  t.match(await second.engine.get(run.runId), { status: 'completed', epoch: 2 })

  hold.resolve()
  await turn()
  await turn()
  t.same(done, ['one', 'two', 'two', 'three'], 'the dead process begins no further step')
  t.match(await run.result(), { text: 'one;two;three;' }, 'its caller gets the result of the other node')
  t.equal(await second.node.stores.checkpoints.load(run.runId), undefined)
})

t.test('a run that cannot be resumed ends as interrupted, once', async (t) => {
  const gate = Promise.withResolvers<void>()
  t.teardown(gate.resolve)
  const agent = scriptedRunnable([() => gate.promise])
  const [first, second, third] = (await cluster(t, [agent], 3)) as [Member, Member, Member]
  const run = await first.engine.start(agent, 'x')
  const result = codeOf(run.result())
  first.node.declareDead()
  const parts = await partsOf({ parts: (after) => third.engine.parts(run.runId, after) })
  requireWhole(t, parts)
  t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_INTERRUPTED' } })
  t.match(await second.engine.get(run.runId), { status: 'failed', epoch: 2 })
  await first.node.regainContact()
  t.equal(await result, 'RUN_ERR_INTERRUPTED', 'its caller gets the error of the log')
})

t.test('a node that was taken for dead leaves its runs, and starts new ones when it is back', async (t) => {
  const hold = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let attempts = 0
  const flow = steps(['one'], async () => {
    if (++attempts > 1) return 'again'
    held.resolve()
    await hold.promise
    return 'late'
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  await held.promise
  first.node.loseContact()
  first.node.declareDead()
  await t.rejects(first.engine.start(flow, 'x'), { code: 'RUN_ERR_NO_LEASE' })
  t.match(await partsOf({ parts: (after) => second.engine.parts(run.runId, after) }), [
    { type: 'start' },
    { type: 'text', text: 'again;' },
    { type: 'finish' }
  ])
  await first.node.regainContact()
  t.equal(first.engine.active, 0)
  hold.resolve()
  t.match(await run.result(), { text: 'again;' })
  const next = await first.engine.start(flow, 'x')
  t.match(await next.result(), { text: 'again;' })
  t.match(await second.engine.get(run.runId), { status: 'completed', epoch: 2 })
})

t.test('without contact no step begins; it begins once contact is back', async (t) => {
  const done: string[] = []
  const one = Promise.withResolvers<void>()
  const flow = steps(['one', 'two'], async (name) => {
    done.push(name)
    if (name === 'one') await one.promise
    return name
  })
  const [first] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  await turn()
  first.node.loseContact()
  one.resolve()
  for (let count = 0; count < 20; count++) await turn()
  t.same(done, ['one'])
  t.match(await first.engine.get(run.runId), { status: 'working' })
  await first.node.regainContact()
  t.match(await run.result(), { text: 'one;two;' })
  t.match(await first.engine.get(run.runId), { epoch: 1 }, 'nobody took it')
})

t.test('what a node writes after another has leased its run is refused', async (t) => {
  const late = Promise.withResolvers<void>()
  const codes: unknown[] = []
  let isFirst = true
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      if (isFirst) {
        isFirst = false
        yield { type: 'text', text: 'a' }
        await late.promise
        const { registry, sessionId } = context
        const key = { registry, kind: 'workflow', name: 'flow', owner: 'anonymous', sessionId } as const
        const append = async () =>
          context.stores.sessions.append(key, 'late', [{ role: 'user', content: 'x' }])
        codes.push(await codeOf(append()))
        codes.push(await codeOf(context.step('late', () => 1)))
        yield { type: 'text', text: 'zombie' }
      }
      yield { type: 'text', text: 'b' }
    }
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  first.node.declareDead()
  const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  t.equal(textOf(parts), 'ab')
  late.resolve()
  t.match(await run.result(), { text: 'ab' })
  t.same(codes, ['RUN_ERR_FENCED', 'RUN_ERR_FENCED'])
  t.equal(textOf(await partsOf(run)), 'ab')
})

t.test('a run can be canceled on another node', async (t) => {
  const agent = scriptedRunnable([{ type: 'text', text: 'a' }, () => new Promise(() => {})])
  const [first, second, third] = (await cluster(t, [agent], 3)) as [Member, Member, Member]
  const run = await first.engine.start(agent, 'x')
  const parts = partsOf({ parts: (after) => third.engine.parts(run.runId, after) })
  t.match(await second.engine.cancel(run.runId), { status: 'canceled' })
  t.match(await run.result(), { finishReason: 'canceled' })
  requireWhole(t, await parts)
  await t.rejects(second.engine.cancel(run.runId), { code: 'RUN_ERR_TERMINAL' })
  await t.rejects(second.engine.cancel('missing'), { code: 'RUN_ERR_NOT_FOUND' })
})

t.test('a run whose node died is canceled by the node that is asked, or that takes it', async (t) => {
  const flow = steps(['one'], () => new Promise(() => {}))
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const [asked, left] = [await first.engine.start(flow, 'x'), await first.engine.start(flow, 'x')]
  await first.node.stores.runs.requestCancel(left.runId)
  first.node.loseContact()
  first.node.declareDead()
  t.match(await second.engine.cancel(asked.runId), { status: 'canceled' })
  const parts = await partsOf({ parts: (after) => second.engine.parts(left.runId, after) })
  t.match(parts.at(-1), { type: 'finish', finishReason: 'canceled' })
  t.match(await second.engine.get(left.runId), { status: 'canceled' })
})

t.test('cancel against end: one of them happens, on all nodes the same', async (t) => {
  const gates: (() => void)[] = []
  const agent = scriptedRunnable([() => new Promise<void>((resolve) => void gates.push(resolve))])
  const [first, second] = (await cluster(t, [agent])) as [Member, Member]
  for (let round = 0; round < 50; round++) {
    const run = await first.engine.start(agent, 'x')
    for (let count = 0; count < round % 5; count++) await turn()
    const canceled = codeOf(second.engine.cancel(run.runId))
    for (let count = 0; count < round % 3; count++) await turn()
    gates[round]?.()
    const { finishReason } = await run.result()
    t.equal(await canceled, finishReason === 'canceled' ? 'none' : 'RUN_ERR_TERMINAL')
    const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
    t.equal(parts.filter(({ type }) => type === 'finish').length, 1)
  }
})

t.test('an input is answered on any node; the first answer counts', async (t) => {
  const asking = defineRunnable({
    kind: 'agent',
    name: 'asking',
    async *stream(_input, context) {
      const { approved, reason } = await context.approvals.request({
        toolCallId: 'c',
        toolName: 't',
        args: {}
      })
      yield { type: 'text', text: `${approved} ${reason}` }
    }
  })
  const [first, second, third] = (await cluster(t, [asking], 3)) as [Member, Member, Member]
  for (let round = 0; round < 20; round++) {
    const run = await first.engine.start(asking, 'x')
    const inputId = `${run.runId}.1`
    while ((await second.engine.findInput(inputId)) === undefined) await turn()
    const answers = await Promise.all(
      [second, third].map(({ engine }, index) =>
        codeOf(engine.answer(inputId, { approved: true, reason: `by ${index}` }))
      )
    )
    t.same(answers.toSorted(), ['RUN_ERR_APPROVAL_ANSWERED', 'none'])
    t.match(await run.result(), { text: `true by ${answers.indexOf('none')}` })
  }
})

t.test('an answer to a run of a dead node is delivered by the node that takes it', async (t) => {
  const asking = steps([], () => {})
  const flow = defineRunnable({
    ...asking,
    name: 'asking',
    async *stream(_input: unknown, context: RunContext) {
      const { approved } = await context.approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
      yield { type: 'text', text: String(approved) }
    }
  } as never)
  const [first, second, third] = (await cluster(t, [flow], 3)) as [Member, Member, Member]
  const run = await first.engine.start(flow, 'x')
  const inputId = `${run.runId}.1`
  while ((await second.engine.findInput(inputId)) === undefined) await turn()
  first.node.loseContact()
  first.node.declareDead()
  await third.engine.answer(inputId, { approved: true })
  const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'true')
  t.equal(parts.filter(({ type }) => type === 'tool.approval.request').length, 1)
})

t.test('a drain hands over runs at once, though others must end first', async (t) => {
  const done: string[] = []
  const one = Promise.withResolvers<void>()
  const flow = steps(['one', 'two'], async (name) => {
    done.push(name)
    if (name === 'one') await one.promise
    return name
  })
  const gate = Promise.withResolvers<void>()
  const agent = scriptedRunnable([() => gate.promise, { type: 'text', text: 'plain' }])
  const [first, second] = (await cluster(t, [flow, agent], 2)) as [Member, Member]
  const [handed, plain] = [await first.engine.start(flow, 'x'), await first.engine.start(agent, 'x')]
  const here = partsOf(handed)
  const draining = first.engine.drain(600_000)
  one.resolve()
  const parts = await partsOf({ parts: (after) => second.engine.parts(handed.runId, after) })
  requireWhole(t, parts)
  t.same(await here, parts, 'a reader on the node that drains reads on')
  t.match(await handed.result(), { text: 'one;two;' })
  t.same(done, ['one', 'two'], 'the step in progress was waited for')
  t.match(await first.engine.get(plain.runId), { status: 'working', epoch: 1 }, 'it is not taken')
  gate.resolve()
  await draining
  t.match(await plain.result(), { text: 'plain' })
})

t.test('closing leaves to others what can be resumed, and ends the rest', async (t) => {
  const flow = steps(['one', 'two'], async (name, { signal }) => {
    if (name === 'one' || attempts++ > 0) return name
    held.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    throw signal.reason
  })
  const held = Promise.withResolvers<void>()
  let attempts = 0
  const agent = scriptedRunnable([() => new Promise(() => {})])
  const [first, second] = (await cluster(t, [flow, agent])) as [Member, Member]
  const [left, plain] = [await first.engine.start(flow, 'x'), await first.engine.start(agent, 'x')]
  const codes = [codeOf(left.result()), codeOf(plain.result())]
  await held.promise
  await first.engine.drain(0)
  await first.engine.close()
  t.same(await Promise.all(codes), ['RUN_ERR_SUSPENDED', 'RUN_ERR_INTERRUPTED'])
  t.equal(first.node.stores.lease.held, false)
  const parts = await partsOf({ parts: (after) => second.engine.parts(left.runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'one;two;')
})

t.test('only nodes that have its runnable take a run, as far as their limits admit', async (t) => {
  const hold = Promise.withResolvers<void>()
  const flow = steps(['one'], () => hold.promise)
  const shared = createTestCluster()
  const [dying, other, small] = [shared.join(), shared.join(), shared.join()] as const
  const first = buildEngine(t, { stores: dying.stores })
  const second = buildEngine(t, { stores: other.stores })
  const third = buildEngine(t, { stores: small.stores, limits: { maxRuns: 2 } })
  await third.resume(flow)
  for (const engine of [first, second, third]) await engine.recover()
  const runs = await Promise.all([1, 2, 3, 4].map(() => first.start(flow, 'x')))
  dying.loseContact()
  dying.declareDead()
  while (third.active < 2) await turn()
  for (let count = 0; count < 50; count++) await turn()
  t.equal(third.active, 2)
  t.equal(second.active, 0)
  const epochs = await Promise.all(runs.map(async ({ runId }) => (await third.get(runId))!.epoch))
  t.equal(epochs.filter((epoch) => epoch === 2).length, 2, 'those beyond the limit are not leased')
  hold.resolve()
  for (const { runId } of runs)
    t.match((await partsOf({ parts: (after) => second.parts(runId, after) })).at(-1), { type: 'finish' })
})

t.test('the runs of an owner are counted on all nodes', async (t) => {
  const agent = scriptedRunnable([() => new Promise(() => {})])
  const [first, second] = (await cluster(t, [agent], 2, { limits: { maxRunsPerOwner: 2 } })) as [
    Member,
    Member
  ]
  const ada = { principal: { sub: 'ada', scopes: [] } }
  const run = await first.engine.start(agent, 'x', ada)
  await second.engine.start(agent, 'x', ada)
  for (const { engine } of [first, second]) {
    const { active } = engine
    await t.rejects(engine.start(agent, 'x', ada), { code: 'RUN_ERR_TOO_MANY_RUNS' })
    t.equal(engine.active, active)
    t.equal((await engine.list({ limit: 10 })).runs.length, 2, 'a refused run is not stored')
  }
  await first.engine.start(agent, 'x', { principal: { sub: 'grace', scopes: [] } })
  await run.cancel()
  await second.engine.start(agent, 'x', ada)
  await first.engine.start(agent, 'x')
})

t.test('a dormant run is woken by an answer on another node, and taken when its node dies', async (t) => {
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'dormant',
    resumable: true,
    async *stream(_input, context) {
      for (const toolCallId of ['a', 'b']) {
        const request = { toolCallId, toolName: 't', args: {}, durable: true }
        const { approved } = await context.approvals.request(request)
        yield { type: 'text', text: `${approved};` }
      }
    }
  })
  const [first, second, third] = (await cluster(t, [flow], 3)) as [Member, Member, Member]
  const run = await first.engine.start(flow, 'x')
  const isAsked = async (count: number) => {
    while ((await third.engine.findInput(`${run.runId}.${count}`)) === undefined) await turn()
  }
  await isAsked(1)
  first.node.loseContact()
  first.node.declareDead()
  // Whoever has taken it unloads it.
  while ((await third.engine.get(run.runId))!.epoch === 1) await turn()
  while (second.engine.active + third.engine.active > 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  const [owner, other] =
    (await third.node.stores.runs.lease(run.runId)) === undefined ? [second, third] : [third, second]
  await other.engine.answer(`${run.runId}.1`, { approved: true })
  await isAsked(2)
  owner.node.loseContact()
  owner.node.declareDead()
  await other.engine.answer(`${run.runId}.2`, { approved: false })
  const parts = await partsOf({ parts: (after) => other.engine.parts(run.runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'true;false;')
})

t.test('a run that kills its node 5 times without progress is not taken again', async (t) => {
  for (const makesProgress of [false, true]) {
    const names = makesProgress ? ['0', '1', '2', '3', '4', '5', '6', '7'] : ['0']
    let reached = Promise.withResolvers<void>()
    let isFirst = true
    const flow = steps(names, async (name) => {
      if (makesProgress && (isFirst = !isFirst)) return name
      reached.resolve()
      return new Promise<string>(() => {})
    })
    const members = await cluster(t, [flow], 8)
    const { runId } = await members[0]!.engine.start(flow, 'x')
    const deaths = makesProgress ? 6 : 5
    for (let count = 0; count < deaths; count++) {
      await reached.promise
      reached = Promise.withResolvers()
      const owner = members.find(({ engine, node }) => node.stores.lease.held && engine.active === 1)!
      owner.node.loseContact()
      owner.node.declareDead()
    }
    const last = members.at(-1)!.engine
    if (makesProgress) await reached.promise
    else await partsOf({ parts: (after) => last.parts(runId, after) })
    t.match(
      await last.get(runId),
      makesProgress ? { status: 'working' } : { status: 'failed', error: { code: 'RUN_ERR_POISONED' } }
    )
  }
})
