import { setTimeout as pause } from 'node:timers/promises'
import {
  createInProcessStores,
  defineRunnable,
  type NumberedPart,
  type Run,
  type RunContext,
  type RunEngine,
  type Runnable
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const ada = { sub: 'ada', scopes: [] }
const bob = { sub: 'bob', scopes: [] }

// No timer of an engine keeps a process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

/** Asks a question and says the answer. */
function asking(resumable: boolean, act: (context: RunContext) => unknown = () => {}): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable,
    async *stream(_input, context) {
      await context.ask({ message: 'Go?', durable: true })
      await act(context)
      yield { type: 'text', text: 'yes' }
    }
  })
}

async function asked({ runId }: Run, engine: RunEngine): Promise<void> {
  for await (const { type } of engine.parts(runId)) if (type === 'input.request') return
}

/** Resolves when no run is in memory. */
async function unloaded(engine: RunEngine): Promise<void> {
  while (engine.active > 0) await pause(20)
}

const count = (parts: readonly NumberedPart[], type: string) =>
  parts.filter((each) => each.type === type).length

t.test(
  'runs that wait are unloaded, count for their owner only, and end as if they had not been',
  async (t) => {
    const limits = { maxRuns: 2, maxRunsPerOwner: 3 }
    const engine = buildEngine(t, { stores: createInProcessStores(), limits })
    const flow = asking(true)
    const events: string[] = []
    for (const name of ['run.start', 'run.error', 'run.complete'] as const)
      engine.events.on(name, () => events.push(name))
    const runs: Run[] = []
    for (let index = 0; index < 5; index++) {
      const run = await engine.start(flow, 'x')
      runs.push(run)
      await asked(run, engine)
    }
    for (let index = 0; index < 3; index++)
      await asked(await engine.start(flow, 'x', { principal: ada }), engine)
    t.equal(await codeOf(() => engine.start(flow, 'x', { principal: ada })), 'RUN_ERR_TOO_MANY_RUNS')
    const [first, second, third] = runs as [Run, Run, Run, ...Run[]]
    const reading = partsOf(first)
    const result = first.result()
    await unloaded(engine)
    t.equal(await codeOf(() => engine.start(flow, 'x', { principal: ada })), 'RUN_ERR_TOO_MANY_RUNS')
    await engine.answer(`${first.runId}.1`, { action: 'accept' })
    t.match(await result, { text: 'yes', finishReason: 'stop' })
    const parts = await reading
    t.same(
      parts.map(({ seq }) => seq),
      parts.map((_, index) => index + 1),
      'its reader gets each part once'
    )
    t.equal(count(parts, 'input.request'), 1)
    t.equal(count(parts, 'input.response'), 1)
    t.equal(await second.cancel(), true)
    t.match(await engine.find(second.runId), { status: 'canceled' })
    t.equal(await second.cancel(), false)
    const canceled = third.result()
    await engine.cancel(third.runId)
    t.match(await canceled, { finishReason: 'canceled' })
    t.same(new Set(events), new Set(['run.start', 'run.complete']))
    t.equal(events.filter((name) => name === 'run.start').length, 8, 'each run starts once')
  }
)

t.test('an unloaded run is woken by its deadline', async (t) => {
  const engine = buildEngine(t, { stores: createInProcessStores() })
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      const { action } = await context.ask({ message: 'Go?', durable: true, timeout: 2_200 })
      yield { type: 'text', text: action }
    }
  })
  const run = await engine.start(flow, 'x')
  await unloaded(engine)
  t.match(await run.result(), { text: 'cancel' })
})

t.test('a run that was started with a caller’s key stays in memory', async (t) => {
  const engine = buildEngine(t, { stores: createInProcessStores() })
  const flow = asking(true, ({ apiKey }) => apiKey)
  const run = await engine.start(flow, 'x', { redact: (value) => value })
  await asked(run, engine)
  await pause(1_300)
  t.equal(engine.active, 1)
  await engine.answer(`${run.runId}.1`, { action: 'accept' })
  t.match(await run.result(), { text: 'yes' })
})

t.test('runs that wait in memory count for their owner by bytes, anonymous callers too', async (t) => {
  const engine = buildEngine(t, { limits: { maxRuns: 2, maxWaitingBytesPerOwner: 200_000 } })
  const flow = asking(false)
  const runs: Run[] = []
  for (let index = 0; index < 4; index++) {
    const run = await engine.start(flow, 'x')
    runs.push(run)
    await asked(run, engine)
  }
  const large = await engine.start(flow, 'x'.repeat(150_000))
  await t.rejects(large.result(), { code: 'RUN_ERR_WAITING_LIMIT' }, 'what does not fit may not wait')
  const last = await engine.start(flow, 'x'.repeat(45_000))
  await asked(last, engine)
  const next = await engine.start(flow, 'x'.repeat(10_000))
  await t.rejects(next.result(), { code: 'RUN_ERR_WAITING_LIMIT' })
  const other = await engine.start(flow, 'x', { principal: bob })
  await asked(other, engine)
  for (const run of [...runs, last, other]) {
    await engine.answer(`${run.runId}.1`, { action: 'accept' })
    t.match(await run.result(), { text: 'yes' })
  }
  const again = await engine.start(flow, 'x'.repeat(75_000))
  await asked(again, engine)
  t.equal(engine.active, 1)
})

t.test('an owner whose waiting runs hold all they may starts no more', async (t) => {
  const engine = buildEngine(t, { limits: { maxWaitingBytesPerOwner: 0 } })
  t.equal(await codeOf(() => engine.start(asking(false), 'x')), 'RUN_ERR_WAITING_LIMIT')
})
