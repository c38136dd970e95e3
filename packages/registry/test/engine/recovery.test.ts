import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type RunContext,
  type RunEngine,
  type Runnable,
  type StartOptions,
  type Stores
} from '@svc/registry'
import t from 'tap'
import { codeOf } from '@svc/testing'
import { buildEngine, partsOf } from '../helpers/collect.ts'

/** A resumable runnable that runs a function and then reports its outcome. */
function flow(act: (context: RunContext, input: unknown) => unknown, name = 'flow'): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name,
    resumable: true,
    inputSchema: Type.Unknown(),
    async *stream(input, context) {
      await act(context, input)
      yield { type: 'text', text: `done with ${JSON.stringify(input).length}` }
    }
  })
}

const request = { toolCallId: 'c', toolName: 'send', args: {} }
const gate = flow(({ approvals }) => approvals.request({ ...request, durable: true }))

/** The stores of a dead process, with waiting runs of a runnable. */
async function crash(runnable: Runnable, count: number, options: StartOptions = {}, input: unknown = 'x') {
  const stores = createInProcessStores()
  const limits = { maxRuns: count, maxRunsPerOwner: count }
  const engine = createRunEngine({ stores, limits, drainTimeout: 0 })
  const runIds: string[] = []
  for (let index = 0; index < count; index++) {
    const run = await engine.start(runnable, input, options)
    run.result().catch(() => {})
    runIds.push(run.runId)
  }
  await new Promise((resolve) => setImmediate(resolve))
  await engine.close()
  return { stores, runIds }
}

async function until(holds: () => unknown): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2))
}

const resting = (engine: RunEngine) => until(() => engine.active === 0)

function endOf(engine: RunEngine, runId: string) {
  return partsOf({ parts: (after?: number) => engine.parts(runId, after) })
}

/** The same stores, counting the checkpoints loaded at the same time. */
function counting(stores: Stores) {
  let now = 0
  const seen = { most: 0, loads: 0 }
  const { checkpoints } = stores
  const load: typeof checkpoints.load = async (runId) => {
    seen.loads++
    seen.most = Math.max(seen.most, ++now)
    await new Promise((resolve) => setImmediate(resolve))
    now--
    return checkpoints.load(runId)
  }
  return { seen, stores: { ...stores, checkpoints: { ...checkpoints, load } } }
}

t.test('waiting runs are loaded a few at a time, and unloaded again', async (t) => {
  const { stores, runIds } = await crash(gate, 100)
  const counted = counting(stores)
  const engine = buildEngine(t, { stores: counted.stores })
  await engine.resume(gate)
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, engine.active)), 1)
  t.equal(await engine.recover(), 0)
  await resting(engine)
  clearInterval(watch)
  t.ok(counted.seen.most <= 8, `${counted.seen.most} at once`)
  t.ok(most < 50, `${most} in memory at once`)
  t.match(await engine.get(runIds[7]!), { status: 'input-required' })
  await Promise.all(
    runIds.map(async (runId) => {
      const stored = await engine.answer(`${runId}.1`, { approved: true })
      t.not(stored.status, 'input-required', 'the answer says that it goes on')
    })
  )
  for (const runId of runIds) t.match((await endOf(engine, runId)).at(-1), { type: 'finish' })
  t.match(await engine.get(runIds[0]!), { status: 'completed', result: { text: 'done with 3' } })
})

t.test('large checkpoints are loaded one at a time', async (t) => {
  const { stores } = await crash(gate, 12, {}, 'x'.repeat(300_000))
  const counted = counting(stores)
  const engine = buildEngine(t, { stores: counted.stores })
  await engine.resume(gate)
  await engine.recover()
  t.equal(counted.seen.most, 1)
  t.equal(counted.seen.loads, 12)
})

t.test('an answer that a store reports again does not load the run', async (t) => {
  const asker = flow(async ({ approvals }) => {
    await approvals.request({ ...request, durable: true })
    await approvals.request({ ...request, toolCallId: 'd', durable: true })
  })
  const { stores, runIds } = await crash(asker, 1)
  const counted = counting(stores)
  const engine = buildEngine(t, { stores: counted.stores })
  await engine.resume(asker)
  await engine.recover()
  await resting(engine)
  await engine.answer(`${runIds[0]}.1`, { approved: true })
  await until(() => engine.findInput(`${runIds[0]}.2`))
  await resting(engine)
  const { loads } = counted.seen
  const answer = { action: 'accept' } as const
  await stores.control.publish({ type: 'input', runId: runIds[0]!, inputId: `${runIds[0]}.1`, answer })
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(counted.seen.loads, loads)
  await engine.answer(`${runIds[0]}.2`, { approved: true })
  t.match((await endOf(engine, runIds[0]!)).at(-1), { type: 'finish' })
})

t.test('an unloaded run can be canceled', async (t) => {
  const { stores, runIds } = await crash(gate, 2)
  const engine = buildEngine(t, { stores })
  await engine.resume(gate)
  await engine.recover()
  t.match(await engine.cancel(runIds[0]!), { status: 'canceled' }, 'perhaps before it rests')
  await resting(engine)
  t.match(await engine.cancel(runIds[1]!), { status: 'canceled' })
  t.equal(await codeOf(() => engine.answer(`${runIds[1]}.1`, { approved: true })), 'RUN_ERR_INPUT_ANSWERED')
})

t.test('it resumes when its approval expires, or its sleep ends', async (t) => {
  const outcomes: unknown[] = []
  const asker = flow(async ({ approvals }) => {
    outcomes.push(await approvals.request({ ...request, durable: true, timeout: 1_500 }))
  })
  const sleeper = flow(async (context) => {
    const end = await context.step('end', () => Date.now() + 1_500)
    await context.sleep(end)
    outcomes.push('slept')
  }, 'sleeper')
  const { stores, runIds } = await crash(asker, 1)
  const engine = buildEngine(t, { stores })
  await engine.resume(asker)
  await engine.recover()
  const slept = await crash(sleeper, 1)
  const other = buildEngine(t, { stores: slept.stores })
  await other.resume(sleeper)
  await other.recover()
  await Promise.all([resting(engine), resting(other)])
  t.same(outcomes, [])
  const keepAlive = setInterval(() => {}, 1_000)
  t.match((await endOf(engine, runIds[0]!)).at(-1), { type: 'finish' })
  t.match((await endOf(other, slept.runIds[0]!)).at(-1), { type: 'finish' })
  clearInterval(keepAlive)
  t.match(new Set(outcomes), new Set([{ approved: false, expired: true }, 'slept']))
})

t.test('a run with other work in progress stays in memory', async (t) => {
  for (const busy of [
    flow(({ approvals }) => approvals.request(request)),
    flow(({ approvals }) =>
      Promise.all([
        approvals.request({ ...request, durable: true }),
        approvals.request({ ...request, toolCallId: 'd' })
      ])
    ),
    flow((context) =>
      Promise.all([
        context.approvals.request({ ...request, durable: true }),
        context.step('slow', () => new Promise(() => {}))
      ])
    )
  ]) {
    const { stores } = await crash(busy, 1)
    const engine = buildEngine(t, { stores, drainTimeout: 0 })
    await engine.resume(busy)
    await engine.recover()
    // Much longer than unloading takes.
    await new Promise((resolve) => setTimeout(resolve, 150))
    t.equal(engine.active, 1)
  }
})

t.test('unloaded runs count towards the owner’s limit, not the service’s', async (t) => {
  const ada = { principal: { sub: 'ada', scopes: [] } }
  const { stores, runIds } = await crash(gate, 2, ada)
  const engine = buildEngine(t, { stores, limits: { maxRuns: 1, maxRunsPerOwner: 2 }, drainTimeout: 0 })
  await engine.resume(gate)
  await engine.recover()
  await resting(engine)
  t.equal(await codeOf(() => engine.start(gate, 'x', ada)), 'RUN_ERR_TOO_MANY_RUNS')
  await engine.cancel(runIds[0]!)
  await engine.start(gate, 'x', ada)
  t.equal(engine.active, 1)
})

/** The same stores, which list what a crash left once they may. */
function hesitating(stores: Stores) {
  const { promise: may, resolve: list } = Promise.withResolvers<void>()
  const listLeft: typeof stores.runs.listLeft = async (query) => (await may, stores.runs.listLeft(query))
  return { stores: { ...stores, runs: { ...stores.runs, listLeft } }, list }
}

t.test('runs not yet recovered can be canceled and answered', async (t) => {
  const { stores: left, runIds } = await crash(gate, 3)
  const { stores, list } = hesitating(left)
  const engine = buildEngine(t, { stores })
  await engine.resume(gate)
  const recovered = engine.recover()
  t.equal(engine.recovering, true)
  t.match(await engine.cancel(runIds[0]!), { status: 'canceled' })
  await engine.answer(`${runIds[1]}.1`, { approved: true })
  t.match((await endOf(engine, runIds[1]!)).at(-1), { type: 'finish' })
  list()
  t.equal(await recovered, 0)
  t.equal(engine.recovering, false)
  await resting(engine)
  t.match(await engine.get(runIds[2]!), { status: 'input-required' })
})

t.test('a run that a crash has ended is found as ended, before recovery has reached it', async (t) => {
  const left = createInProcessStores()
  const dead = buildEngine(t, { stores: left })
  const asking = defineRunnable({
    kind: 'agent',
    name: 'asking',
    run: async (_, context) => JSON.stringify(await context.ask({ message: 'Which?' }))
  })
  const runIds: string[] = []
  for (let count = 0; count < 3; count++) {
    const run = await dead.start(asking, 'x')
    run.result().catch(() => {})
    runIds.push(run.runId)
    await until(async () => (await dead.find(run.runId))!.status === 'input-required')
  }
  const [one, two, three] = runIds as [string, string, string]

  const { stores, list } = hesitating(left)
  const engine = buildEngine(t, { stores })
  const recovered = engine.recover()
  const ended = { status: 'failed', error: { code: 'RUN_ERR_INTERRUPTED' } }
  t.match(await engine.find(one), ended)
  t.match(await engine.get(two), ended)
  t.match(await engine.findInput(`${three}.1`), { run: { status: 'failed' } })
  list()
  t.equal(await recovered, 0, 'nothing is left')
})

t.test('an unloaded run waits for a runnable that was removed', async (t) => {
  const { stores, runIds } = await crash(gate, 1)
  const engine = buildEngine(t, { stores, resumeTimeout: 60_000 })
  await engine.resume(gate)
  await engine.recover()
  await resting(engine)
  engine.release(gate)
  await engine.answer(`${runIds[0]}.1`, { approved: true })
  t.match(await engine.get(runIds[0]!), { status: 'input-required' })
  t.equal(await engine.resume(gate), 1)
  t.match((await endOf(engine, runIds[0]!)).at(-1), { type: 'finish' })
})

t.test('answers do not extend the time that a run waits for its runnable', async (t) => {
  const ids = Array.from({ length: 400 }, (_, at) => `c${at}`)
  const gates = flow(({ approvals }) =>
    Promise.all(ids.map((toolCallId) => approvals.request({ ...request, toolCallId, durable: true })))
  )
  const { stores, runIds } = await crash(gates, 1)
  const engine = buildEngine(t, { stores, resumeTimeout: 50 })
  await engine.recover()
  const runId = runIds[0]!
  let answered = 0
  while ((await engine.get(runId))?.status !== 'failed') {
    await engine.answer(`${runId}.${++answered}`, { approved: true }).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  t.ok(answered < ids.length, 'it ended while answers still came')
})

t.test('loading a run is retried', async (t) => {
  const { stores, runIds } = await crash(gate, 1)
  let faults = 1
  const checkpoints = {
    ...stores.checkpoints,
    load: (runId: string) => {
      if (faults-- > 0) throw new Error('disk I/O error')
      return stores.checkpoints.load(runId)
    }
  }
  const logged: string[] = []
  const nothing = () => {}
  const log = {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (_: object, text = '') => logged.push(text)
  }
  const engine = buildEngine(t, { stores: { ...stores, checkpoints }, log })
  await engine.resume(gate)
  await engine.recover()
  t.same(logged, ['a store fails: disk I/O error'])
  t.match(await engine.get(runIds[0]!), { status: 'input-required' })
  await engine.answer(`${runIds[0]}.1`, { approved: true })
  t.match((await endOf(engine, runIds[0]!)).at(-1), { type: 'finish' })
})
