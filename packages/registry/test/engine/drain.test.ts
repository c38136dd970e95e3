import { text as textOf } from 'node:stream/consumers'
import { createInProcessStores, defineRunnable, type RunContext, type Runnable } from '@svc/registry'
import { LogReader } from '../../src/engine/log/log-reader.ts'
import { createSseStream } from '@svc/surface'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** An agent that waits until it is released. */
function held() {
  const gate = Promise.withResolvers<void>()
  return { runnable: scriptedRunnable([() => gate.promise]), letGo: gate.resolve }
}

/** A workflow that another process can resume. */
function lasting(act: (context: RunContext) => unknown): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name: 'lasting',
    resumable: true,
    async *stream(_input, context) {
      yield { type: 'text', text: 'begun' }
      yield { type: 'text', text: String(await act(context)) }
    }
  })
}

const ask = async ({ approvals }: RunContext) =>
  (await approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })).approved ? ' yes' : ' no'
const codeOf = (promise: Promise<unknown>) => promise.then(String, (err: { code: string }) => err.code)

t.test(
  'draining refuses new runs at once and waits for those in progress; closing does not wait again',
  async (t) => {
    const { runnable, letGo } = held()
    const engine = buildEngine(t, { drainTimeout: 600_000 })
    const run = await engine.start(runnable, 'x')
    let drained = false
    const draining = engine.drain().then(() => (drained = true))
    t.ok(engine.draining)
    await t.rejects(engine.start(runnable, 'x'), { code: 'RUN_ERR_DRAINING' })
    await turn()
    t.notOk(drained)
    t.notOk(engine.closed.aborted)
    letGo()
    await draining
    t.match(await run.result(), { finishReason: 'stop' })
    await engine.close()
  }
)

t.test('it stops waiting after the time-out, and closing ends the runs', async (t) => {
  const { runnable, letGo } = held()
  t.teardown(letGo)
  const engine = buildEngine(t, { drainTimeout: 600_000 })
  const run = await engine.start(runnable, 'x')
  const code = codeOf(run.result())
  await engine.drain(5)
  t.equal(engine.active, 1)
  t.match(await engine.get(run.runId), { status: 'working' })
  await engine.drain(600_000)
  await engine.close()
  t.equal(await code, 'RUN_ERR_INTERRUPTED')
})

t.test('an invalid time-out is refused', async (t) => {
  const engine = buildEngine(t)
  for (const time of [-1, 1.5, Infinity, '5' as never])
    t.throws(() => engine.drain(time), { code: 'REG_ERR_BAD_OPTION' })
  t.notOk(engine.draining)
})

t.test(
  'it does not wait for a resumable run, which can be canceled and answered until the end',
  async (t) => {
    const stores = createInProcessStores()
    const { runnable, letGo } = held()
    const engine = buildEngine(t, { stores, drainTimeout: 600_000 })
    const [canceled, answered, left] = [
      await engine.start(lasting(ask), 'x'),
      await engine.start(lasting(ask), 'x'),
      await engine.start(lasting(ask), 'x')
    ]
    const agent = await engine.start(runnable, 'x')
    const results = [canceled, answered, left].map((run) => codeOf(run.result()))
    await turn()
    let drained = false
    const draining = engine.drain().then(() => (drained = true))
    t.match(await engine.cancel(canceled.runId), { status: 'canceled' })
    await engine.answer(`${answered.runId}.1`, { approved: true })
    await turn()
    t.match(await engine.get(answered.runId), { status: 'completed', result: { text: 'begun yes' } })
    t.notOk(drained, 'the agent is waited for')
    letGo()
    await draining
    t.match(await agent.result(), { finishReason: 'stop' })
    t.match(await engine.get(left.runId), { status: 'input-required' })
    await engine.close()
    t.same(await Promise.all(results), ['[object Object]', '[object Object]', 'RUN_ERR_SUSPENDED'])
    t.match(await engine.get(left.runId), { status: 'input-required', inputs: [{ answer: null }] })
    t.equal(await codeOf(engine.cancel(left.runId)), 'RUN_ERR_DRAINING', 'nobody is left to end it')

    const next = buildEngine(t, { stores })
    await next.recover()
    t.equal(await next.resume(lasting(ask)), 1)
    await next.answer(`${left.runId}.1`, { approved: true })
    const parts = await partsOf({ parts: (after?: number) => next.parts(left.runId, after) })
    t.match(parts.at(-1), { type: 'finish', finishReason: 'stop' })
  }
)

t.test('the current step is recorded, and the next one is not started', async (t) => {
  const { promise: step, resolve: endStep } = Promise.withResolvers<string>()
  const done: string[] = []
  const flow = lasting(async (context) => {
    await context.step('first', () => step)
    done.push('first')
    await context.step('second', () => done.push('second'))
  })
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores, drainTimeout: 600_000 })
  const run = await engine.start(flow, 'x')
  const code = codeOf(run.result())
  await turn()
  const draining = engine.drain()
  await turn()
  endStep('value')
  await draining
  await engine.close()
  t.equal(await code, 'RUN_ERR_SUSPENDED')
  t.same(done, ['first'])
  t.same(await stores.runs.readStep(run.runId, '["first"]'), { output: 'value' })
})

t.test('it does not wait for a resumable run that is just being started either', async (t) => {
  const stores = createInProcessStores()
  const created = Promise.withResolvers<void>()
  const create = stores.runs.create.bind(stores.runs)
  stores.runs.create = async (run) => {
    await created.promise
    return create(run)
  }
  const engine = buildEngine(t, { stores, drainTimeout: 600_000 })
  // Only a start with a key waits for its record.
  const starting = engine.start(lasting(ask), 'x', { startKey: { key: 'k', hash: 'h' } })
  await turn()
  const draining = engine.drain()
  created.resolve()
  const run = await starting
  const code = codeOf(run.result())
  await draining
  await engine.close()
  t.equal(await code, 'RUN_ERR_SUSPENDED')
})

t.test('only readers of a suspended run are notified of it', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const left = await engine.start(lasting(ask), 'x')
  const ended = await engine.start(scriptedRunnable([600_000]), 'x')
  for (const run of [left, ended]) run.result().catch(() => {})
  const reader = new LogReader(engine, left.runId)
  const streams = [left, ended].map(({ runId }) => textOf(createSseStream(engine, runId)))
  await turn()
  await engine.close()
  const [suspended, failed] = await Promise.all(streams)
  t.match(suspended, /tool\.approval\.request[^]*\n\n: suspended[^\n]*\n\n$/)
  t.match(failed, /RUN_ERR_INTERRUPTED[^]*\nid: 2\n\n$/)
  while (!reader.ended) await reader.read()
  t.same([reader.suspended, reader.after], [true, 3])

  // Including readers that arrive after the engine has closed.
  t.match(await textOf(createSseStream(engine, left.runId, { after: 3 })), /^: suspended[^\n]*\n\n$/)
  t.equal(await textOf(createSseStream(engine, ended.runId, { after: 2 })), '')
  const unknown = new LogReader(engine, 'unknown')
  await unknown.read()
  t.same([unknown.ended, unknown.suspended], [true, false])
})

t.test('waiting for a suspended run by its start key rejects the same way', async (t) => {
  const startKey = { key: 'k', hash: 'h' }
  const engine = buildEngine(t)
  const first = await engine.start(lasting(ask), 'x', { startKey })
  const again = await engine.start(lasting(ask), 'x', { startKey })
  t.ok(again.replayed)
  const codes = [first, again].map((run) => codeOf(run.result()))
  await turn()
  await engine.close()
  t.same(await Promise.all(codes), ['RUN_ERR_SUSPENDED', 'RUN_ERR_SUSPENDED'])
})

t.test('a reader gets the last part while the engine closes', async (t) => {
  const stores = createInProcessStores()
  const read = Promise.withResolvers<void>()
  let isHeld = false
  const log = {
    append: stores.log.append.bind(stores.log),
    follow: stores.log.follow.bind(stores.log),
    abandon: stores.log.abandon.bind(stores.log),
    read: async (...reading: Parameters<typeof stores.log.read>) => {
      const entries = await stores.log.read(...reading)
      if (isHeld) await read.promise
      return entries
    }
  }
  const engine = buildEngine(t, { stores: { ...stores, log } })
  const run = await engine.start(scriptedRunnable([600_000]), 'x')
  run.result().catch(() => {})
  const reader = new LogReader(engine, run.runId)
  await reader.read()
  isHeld = true
  const reading = reader.read()
  await turn()
  await engine.close()
  isHeld = false
  read.resolve()
  await reading
  t.notOk(reader.ended)
  await reader.read()
  t.same([reader.ended, reader.suspended], [true, false])
})
