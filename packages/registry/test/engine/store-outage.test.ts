import { text as textOf } from 'node:stream/consumers'
import { mock } from 'node:test'
import {
  defineRunnable,
  type Run,
  type RunContext,
  type RunEngine,
  type RunLog,
  type YieldedPart
} from '@svc/registry'
import { createSseStream } from '@svc/surface'
import { codeOf } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'
import { failingStores } from '../helpers/failing-stores.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const asked = { toolCallId: 'c', toolName: 't', args: {}, timeout: 600_000 }

/** An engine on stores that can fail, with a mocked clock for its checks. Nothing is appended before the gate opens, if there is one. */
function build(t: Test, gateOf: (runId: string) => Promise<unknown> | undefined = () => undefined) {
  mock.timers.reset()
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
  t.teardown(() => mock.timers.reset())
  const failing = failingStores()
  const lines: { level: string; message: string; err?: { cause?: unknown } }[] = []
  const write = (level: string) => (details: object, message?: string) =>
    void lines.push({ level, message: message ?? '', ...details })
  const log: RunLog = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error')
  }
  const { log: parts } = failing.stores
  const append: typeof parts.append = async (runId, ...args) => {
    await gateOf(runId)
    return parts.append(runId, ...args)
  }
  const engine = buildEngine(t, { stores: { ...failing.stores, log: { ...parts, append } }, log })
  return {
    ...failing,
    engine,
    lines,
    /** Lets the engine check its stores once, and waits for the consequences. */
    async look() {
      mock.timers.tick(1_000)
      for (let turns = 0; turns < 50; turns++) await turn()
    }
  }
}

/** An agent, or a resumable workflow, with the given stream. */
function runnable(kind: 'agent' | 'workflow', act: (context: RunContext) => AsyncGenerator<YieldedPart>) {
  return defineRunnable({
    kind,
    name: 'one',
    ...(kind === 'workflow' && { resumable: true }),
    stream: (_input, context) => act(context)
  })
}

async function* asking({ approvals }: RunContext): AsyncGenerator<YieldedPart> {
  const { approved } = await approvals.request(asked)
  yield { type: 'text', text: `approved: ${approved}` }
}

/** Starts a run and waits until it requests an approval. */
async function startAsking(engine: RunEngine, kind: 'agent' | 'workflow'): Promise<Run> {
  const run = await engine.start(runnable(kind, asking), 'x')
  run.result().catch(() => {})
  while ((await engine.get(run.runId))?.status !== 'input-required') await turn()
  return run
}

t.test('a store failure ends a run and its streams; its log ends when the store recovers', async (t) => {
  const { engine, fail, mend, look, inner } = build(t)
  const go = Promise.withResolvers<void>()
  const run = await engine.start(
    runnable('agent', async function* () {
      yield { type: 'text', text: 'a' }
      await go.promise
      yield { type: 'text', text: 'lost' }
      await turn()
      await turn()
      yield { type: 'text', text: 'never' }
    }),
    'x'
  )
  const seen = textOf(createSseStream(engine, run.runId, { heartbeat: 60_000 }))
  for (let turns = 0; turns < 9; turns++) await turn()
  fail()
  go.resolve()
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
  const messages = (await seen).split('\n\n')
  t.match(messages.slice(1), [
    /^data: \{"seq":2,.*\nid: 2$/,
    /^data: \{"type":"error","at":\d+,"error":\{"code":"RUN_ERR_STORE","message":"A store is not available","retryable":true\}\}$/,
    /^$/
  ])
  t.match(inner.runs.get(run.runId), { status: 'working' })
  await look()
  t.match(inner.runs.get(run.runId), { status: 'working' }, 'the disk is still full')
  mend()
  await look()
  t.match(inner.runs.get(run.runId), { status: 'failed', error: { code: 'RUN_ERR_STORE' } })
  t.match((await partsOf(run)).at(-1), { type: 'error', seq: 3, error: { code: 'RUN_ERR_STORE' } })
  t.notMatch(await seen, /lost|never/)
})

t.test(
  'a workflow whose step cannot be recorded resumes with its streams when the store recovers',
  async (t) => {
    const reads = new Set(['read', 'get', 'readStep', 'load'])
    for (const failing of ['every write', 'recordStep', 'append']) {
      const { engine, fail, mend, look, inner } = build(t)
      const go = Promise.withResolvers<void>()
      const done: string[] = []
      const run = await engine.start(
        runnable('workflow', async function* (context) {
          await context.step('first', () => void done.push('first'))
          yield { type: 'text', text: 'a' }
          await context.step('second', async () => {
            await go.promise
            done.push('second')
          })
          yield { type: 'text', text: 'b' }
        }),
        'x'
      )
      run.result().catch(() => {})
      const seen = textOf(createSseStream(engine, run.runId, { heartbeat: 60_000 }))
      while ((await inner.log.read(run.runId, 0, { entries: 9, bytes: 999 })).length < 2) await turn()
      fail('disk full', (_port, method) =>
        failing === 'every write' ? !reads.has(method) : method === failing
      )
      go.resolve()
      for (let turns = 0; turns < 20; turns++) await turn()
      t.match(inner.runs.get(run.runId), { status: 'working', epoch: 1 }, failing)
      await look()
      t.match(inner.runs.get(run.runId), { status: 'working' }, failing)
      mend()
      await look()
      t.match(inner.runs.get(run.runId), { status: 'completed', result: { text: 'ab' } }, failing)
      t.match(await seen, /"text":"b".*"type":"finish"/s, failing)
      t.notMatch(await seen, /"type":"error"/, failing)
      // The second step runs again if it could not be recorded.
      t.match(done.join(), failing === 'append' ? /^first,second$/ : /^first(,second){2,}$/, failing)
      t.equal(inner.checkpoints.load(run.runId), undefined)
      mock.timers.reset()
    }
  }
)

t.test(
  'a workflow that could not be canceled still waits for its approval when the store recovers',
  async (t) => {
    for (const when of ['before the next look', 'after it']) {
      const { engine, fail, mend, look, inner } = build(t)
      const run = await startAsking(engine, 'workflow')
      fail()
      t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_STORE')
      t.equal(await codeOf(() => engine.answer(`${run.runId}.1`, { approved: true })), 'RUN_ERR_STORE')
      mend()
      if (when === 'after it') await look()
      t.match(await engine.answer(`${run.runId}.1`, { approved: true }), { runId: run.runId })
      await look()
      t.match(inner.runs.get(run.runId), { status: 'completed', result: { text: 'approved: true' } }, when)
      mock.timers.reset()
    }
  }
)

t.test('an agent that could not be canceled has ended: answers to its approval are refused', async (t) => {
  const { engine, fail, mend, inner } = build(t)
  const run = await startAsking(engine, 'agent')
  fail()
  t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_STORE')
  t.equal(await codeOf(() => engine.answer(`${run.runId}.1`, { approved: true })), 'RUN_ERR_STORE')
  mend()
  t.equal(await codeOf(() => engine.answer(`${run.runId}.1`, { approved: true })), 'RUN_ERR_INPUT_ANSWERED')
  t.match(inner.runs.get(run.runId), { status: 'failed', error: { code: 'RUN_ERR_STORE' } })
})

t.test('an answer that is stored but cannot be logged succeeds only for a resumable run', async (t) => {
  for (const [kind, code, status] of [
    ['workflow', 'none', 'completed'],
    ['agent', 'RUN_ERR_STORE', 'failed']
  ] as const) {
    const { engine, fail, mend, look, inner } = build(t)
    const run = await startAsking(engine, kind)
    fail('disk full', (_port, method) => method === 'append')
    t.equal(await codeOf(() => engine.answer(`${run.runId}.1`, { approved: true })), code, kind)
    mend()
    await look()
    t.match(inner.runs.get(run.runId), { status }, kind)
    mock.timers.reset()
  }
})

t.test('an answer that cannot be stored changes nothing', async (t) => {
  const { engine, fail, mend } = build(t)
  const run = await startAsking(engine, 'agent')
  fail('disk full', (_port, method) => method === 'answerInput')
  t.equal(await codeOf(() => engine.answer(`${run.runId}.1`, { approved: true })), 'RUN_ERR_STORE')
  mend()
  await engine.answer(`${run.runId}.1`, { approved: true })
  t.match(await run.result(), { text: 'approved: true' })
})

t.test('an approval that expires during an outage has ended when the store recovers', async (t) => {
  const { engine, fail, mend, look } = build(t)
  const run = await startAsking(engine, 'agent')
  fail('disk full', (_port, method) => method === 'answerInput')
  mock.timers.tick(asked.timeout)
  for (let turns = 0; turns < 9; turns++) await turn()
  mend()
  await look()
  t.match(await run.result(), { text: 'approved: false' })
})

t.test('canceling can be repeated for a run that could not be written', async (t) => {
  for (const kind of ['agent', 'workflow'] as const) {
    const { engine, fail, mend, look, inner } = build(t)
    const run = await startAsking(engine, kind)
    fail()
    t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_STORE')
    t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_STORE')
    mend()
    t.match(await engine.cancel(run.runId), { status: 'canceled' }, kind)
    await look()
    t.match(inner.runs.get(run.runId), { status: 'canceled' }, kind)
  }
})

t.test('a refused start never executes', async (t) => {
  for (const method of ['save', 'create']) {
    const { engine, fail, mend, look } = build(t)
    let executed = 0
    const flow = runnable('workflow', async function* ({ approvals }) {
      executed++
      await approvals.request(asked)
      yield { type: 'text', text: 'a' }
    })
    fail('disk full', (_port, name) => name === method || name === 'append')
    t.equal(await codeOf(() => engine.start(flow, 'x')), 'RUN_ERR_STORE')
    mend()
    await look()
    await look()
    t.ok(executed <= 1, method)
    const { runs } = await engine.list({ limit: 9 })
    t.match(runs, method === 'create' ? [] : [{ status: 'failed', error: { code: 'RUN_ERR_STORE' } }])
    t.equal(engine.active, 0)
  }
})

t.test('a run whose data the store always refuses fails eventually', async (t) => {
  const { engine, fail, look, inner } = build(t)
  let executed = 0
  const run = await engine.start(
    runnable('workflow', async function* (context) {
      yield { type: 'text', text: 'a' }
      await context.step('poison', () => ++executed)
    }),
    'x'
  )
  run.result().catch(() => {})
  fail('row too large', (_port, method) => method === 'recordStep')
  for (let looks = 0; looks < 20; looks++) await look()
  t.match(inner.runs.get(run.runId), { status: 'failed', error: { code: 'RUN_ERR_STORE' } })
  t.ok(executed > 1 && executed < 10, `${executed} times`)
})

t.test('a run resumes only after its earlier execution has ended', async (t) => {
  const { engine, fail, mend, look, inner } = build(t)
  const [store, stubborn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let atOnce = 0
  let most = 0
  const run = await engine.start(
    runnable('workflow', async function* () {
      most = Math.max(most, ++atOnce)
      yield { type: 'text', text: 'a' }
      await store.promise
      yield { type: 'data', name: 'b', value: 1 }
      // It ignores its signal.
      await stubborn.promise
      atOnce--
    }),
    'x'
  )
  run.result().catch(() => {})
  for (let turns = 0; turns < 9; turns++) await turn()
  fail()
  store.resolve()
  await look()
  mend()
  await look()
  await look()
  t.match(inner.runs.get(run.runId), { status: 'working', epoch: 1 })
  stubborn.resolve()
  await look()
  t.match(inner.runs.get(run.runId), { status: 'completed', epoch: 2 })
  t.equal(most, 1)
})

t.test(
  'runs interrupted by a restart resume, end or are canceled as soon as the store recovers',
  async (t) => {
    for (const what of ['goes on', 'ends', 'is canceled'] as const) {
      const { engine, fail, mend, look, inner, stores } = build(t)
      const run = await startAsking(engine, 'workflow')
      await engine.close()
      const next = buildEngine(t, { stores, resumeTimeout: 60_000 })
      await next.recover()
      fail()
      if (what === 'goes on') t.equal(await next.resume(runnable('workflow', asking)), 0)
      if (what === 'ends') mock.timers.tick(60_000)
      if (what === 'is canceled') t.equal(await codeOf(() => next.cancel(run.runId)), 'RUN_ERR_STORE')
      for (let turns = 0; turns < 9; turns++) await turn()
      mend()
      await look()
      if (what === 'goes on') await next.answer(`${run.runId}.1`, { approved: true })
      if (what === 'is canceled') await next.cancel(run.runId)
      for (let looks = 0; looks < 6; looks++) await look()
      const status = { 'goes on': 'completed', ends: 'failed', 'is canceled': 'canceled' }[what]
      t.match(inner.runs.get(run.runId), { status }, what)
    }
  }
)

t.test(
  'the log names each cause once a minute, for all runs together, and reports the recovery',
  async (t) => {
    const { engine, fail, mend, look, lines } = build(t)
    const loud = () => lines.filter(({ level }) => level === 'warn' || level === 'error')
    const quiet = runnable('agent', async function* () {})
    fail('database or disk is full')
    for (let count = 0; count < 5; count++) await codeOf(() => engine.start(quiet, 'x'))
    await look()
    fail('database is locked')
    for (let count = 0; count < 5; count++) await codeOf(() => engine.start(quiet, 'x'))
    await look()
    t.match(loud(), [
      { level: 'error', message: 'a store fails: database or disk is full', err: { type: 'Error' } },
      { level: 'error', message: 'a store fails: database is locked' }
    ])
    mend()
    await look()
    t.match(loud().slice(2), [{ level: 'warn', message: 'the stores work again', seconds: Number }])
    await (await engine.start(quiet, 'x')).result()
    await look()
    t.equal(loud().length, 3)
  }
)

t.test('the stores are checked at most once a second', async (t) => {
  const { engine, fail, looks } = build(t)
  const check = () => codeOf(() => engine.stores.check?.())
  t.same(await Promise.all(Array.from({ length: 50 }, check)), Array(50).fill('none'))
  t.equal(looks(), 1)
  fail()
  t.equal(await check(), 'none', 'as it was a moment ago')
  t.equal(looks(), 1)
})

t.test('stores that do not respond count as failed', async (t) => {
  const { stores } = build(t)
  const engine = buildEngine(t, { stores: { ...stores, check: () => new Promise(() => {}) } })
  const checking = codeOf(() => engine.stores.check?.())
  mock.timers.tick(3_000)
  t.equal(await checking, 'RUN_ERR_STORE')
})

t.test('an aborted wait for a session rejects with the abort’s reason, not a store error', async (t) => {
  const { engine, lines } = build(t)
  const key = { registry: 'global', owner: 'a', kind: 'agent', name: 'n', sessionId: 's' } as const
  const controller = new AbortController()
  await engine.stores.sessions.lock(key, controller.signal)
  const waiting = engine.stores.sessions.lock(key, controller.signal)
  const reason = new Error('left')
  controller.abort(reason)
  t.equal(await Promise.resolve(waiting).catch((err: unknown) => err), reason)
  t.same(lines, [])
})

t.test('a run that waits for its turn keeps its place over a store failure', async (t) => {
  const gate = Promise.withResolvers<void>()
  let isGated = false
  const { engine, fail, mend, look } = build(t, () => (isGated ? gate.promise : undefined))
  const order: unknown[] = []
  const go = Promise.withResolvers<void>()
  const agent = defineRunnable({
    kind: 'agent',
    name: 'talker',
    takesTurns: true,
    resumable: true,
    async *stream(input) {
      order.push(input)
      if (input === 'first') await go.promise
      yield { type: 'text', text: 'said' }
    }
  })
  const send = (input: string) => engine.start(agent, input, { sessionId: 's', onDisconnect: 'continue' })
  const first = await send('first')
  isGated = true
  const second = await send('second')
  isGated = false
  for (let turns = 0; turns < 9; turns++) await turn()
  fail(
    'disk full',
    (port, method, [runId]) => port === 'log' && method === 'append' && runId === second.runId
  )
  gate.resolve()
  for (let turns = 0; turns < 9; turns++) await turn()
  mend()
  const third = await send('third')
  go.resolve()
  await first.result()
  await look()
  await Promise.all([second, third].map(({ runId }) => Array.fromAsync(engine.parts(runId))))
  t.same(order, ['first', 'second', 'third'])
})
