import {
  createInProcessStores,
  createRunEngine,
  expose,
  SILENT_LOG,
  type Run,
  type Stores
} from '@svc/registry'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'
import { failingStores } from '../helpers/failing-stores.ts'

const hanging = scriptedRunnable([60_000])
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Stores in memory whose log writes can be held back and made to fail. */
function heldStores() {
  const stores = createInProcessStores()
  let gate: Promise<unknown> | undefined
  let fault: Error | undefined
  let last: Promise<unknown> = Promise.resolve()
  const append: typeof stores.log.append = (...args) => {
    const written = last.then(async () => {
      await gate
      if (fault !== undefined) throw fault
      return stores.log.append(...args)
    })
    last = written.catch(() => {})
    return written
  }
  return {
    stores: { ...stores, log: { ...stores.log, append } } satisfies Stores,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    break: (err: Error) => void (fault = err)
  }
}

t.test('closing waits until the last part of every run is written', async (t) => {
  const held = heldStores()
  const engine = createRunEngine({ stores: held.stores, drainTimeout: 5_000 })
  const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
  const letGo = held.hold()
  await turn()
  let closed = false
  const closing = engine.close().then(() => (closed = true))
  await turn()
  await turn()
  t.equal(closed, false)
  letGo()
  await closing
  t.match(await held.stores.runs.get(run.runId), { status: 'completed' })
})

t.test('canceling while the end is being written is refused as terminal', async (t) => {
  const held = heldStores()
  const engine = buildEngine(t, { stores: held.stores })
  const run = await engine.start(hanging, 'x')
  await turn()
  const letGo = held.hold()
  const codes = Promise.all([1, 2, 3].map(() => codeOf(() => engine.cancel(run.runId))))
  await turn()
  letGo()
  t.same(await codes, ['none', 'RUN_ERR_TERMINAL', 'RUN_ERR_TERMINAL'])
  t.match(await engine.get(run.runId), { status: 'canceled' })
})

t.test('a cancel that cannot be stored fails', async (t) => {
  const held = heldStores()
  const engine = buildEngine(t, { stores: held.stores })
  const run = await engine.start(hanging, 'x')
  await turn()
  held.break(new Error('disk full'))
  t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_STORE')
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
  t.equal(engine.active, 0)
})

t.test('a cancel from another node that cannot be stored does no harm', async (t) => {
  const held = heldStores()
  const engine = buildEngine(t, { stores: held.stores })
  const run = await engine.start(hanging, 'x')
  await turn()
  held.break(new Error('disk full'))
  await held.stores.control.publish({ type: 'cancel', runId: run.runId })
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
})

t.test('two nodes: each cancels and answers the runs of the other', async (t) => {
  const stores = createInProcessStores()
  const [here, there] = [buildEngine(t, { stores }), buildEngine(t, { stores })]
  const run = await here.start(hanging, 'x')
  t.match(await there.cancel(run.runId), { runId: run.runId })
  t.match(await run.result(), { finishReason: 'canceled' })
  const asking = await here.start(
    scriptedRunnable([
      ({ approvals }) => approvals.request({ toolCallId: 'c', toolName: 't', args: {} }),
      { type: 'text', text: 'on' }
    ]),
    'x'
  )
  await turn()
  await there.answer(`${asking.runId}.1`, { approved: true })
  t.match(await asking.result(), { text: 'on' })
  t.equal((await partsOf(asking)).filter(({ type }) => type === 'tool.approval.response').length, 1)
})

for (const [what, fail] of Object.entries<(stores: Stores) => Stores>({
  'throws at once': (stores) => ({
    ...stores,
    runs: {
      ...stores.runs,
      create() {
        throw new Error('secret')
      }
    }
  }),
  'rejects later': (stores) => ({
    ...stores,
    runs: { ...stores.runs, create: () => turn().then(() => Promise.reject(new Error('secret'))) }
  })
})) {
  t.test(
    `a create that ${what} fails with RUN_ERR_STORE without the original message, and frees the slot`,
    async (t) => {
      const engine = buildEngine(t, { stores: fail(createInProcessStores()), limits: { maxRuns: 1 } })
      for (let count = 0; count < 3; count++) {
        const err = await engine.start(hanging, 'x').then(String, (reason: Error) => reason)
        t.match(err, { code: 'RUN_ERR_STORE' })
        t.notMatch((err as Error).message, /secret/)
      }
      t.equal(engine.active, 0)
    }
  )
}

t.test('a store’s 5xx error becomes RUN_ERR_STORE, a 4xx error stays unchanged', async (t) => {
  const failing = (statusCode: number) => {
    const stores = createInProcessStores()
    const refused = expose({ code: 'DISK_QUOTA', message: 'The disk is full', statusCode })
    return buildEngine(t, {
      stores: { ...stores, runs: { ...stores.runs, find: () => Promise.reject(refused) } }
    })
  }
  await t.rejects(failing(507).find('x'), { code: 'RUN_ERR_STORE' })
  await t.rejects(failing(409).find('x'), { code: 'DISK_QUOTA' })
})

t.test('a file whose stream breaks rejects with that error, and the store counts as working', async (t) => {
  const { stores, fail } = failingStores()
  const errors: object[] = []
  const log = { ...SILENT_LOG, error: (details: object) => void errors.push(details) }
  const { files } = buildEngine(t, { stores, log }).stores
  const broken = new Error('the client left')
  async function* breaks() {
    yield Buffer.from('a')
    throw broken
  }
  const put = async (content: Uint8Array | AsyncIterable<Uint8Array>) =>
    files!.put('r', { mimeType: 'a/b', content })
  await t.rejects(put(breaks()), broken)
  t.same(errors, [])
  fail('disk full', (port) => port === 'files')
  for (const content of [Buffer.from('a'), breaks()])
    await t.rejects(put(content), { code: 'RUN_ERR_STORE', cause: { message: 'disk full' } })
  t.match(errors, [{ store: 'files', method: 'put', err: { stack: /disk full/ } }])
})

t.test('a log that throws synchronously ends the run, at the first part or later', async (t) => {
  for (const failsAt of [1, 2, 3]) {
    const stores = createInProcessStores()
    const append: typeof stores.log.append = (runId, epoch, entries, change) => {
      if (entries[0]?.seq === failsAt) throw new Error('disk full')
      return stores.log.append(runId, epoch, entries, change)
    }
    const engine = buildEngine(t, { stores: { ...stores, log: { ...stores.log, append } } })
    const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_STORE' }, `at ${failsAt}`)
    t.equal(engine.active, 0)
  }
})

t.test('every way to end frees the slot', async (t) => {
  const ada = { principal: { sub: 'ada', scopes: [] } }
  const engine = buildEngine(t, { limits: { maxRunsPerOwner: 1, maxLogBytes: 2_000 } })
  const fail = () => {
    throw new Error('fails')
  }
  const ways: Record<string, [Parameters<typeof scriptedRunnable>[0], (run: Run) => unknown]> = {
    finishes: [[{ type: 'text', text: 'a' }], () => {}],
    fails: [[fail], () => {}],
    'is canceled': [[60_000], (run) => run.cancel()],
    'is canceled twice': [[60_000], (run) => Promise.all([run.cancel(), run.cancel()])],
    'yields no part': [[{ type: 'text' } as never], () => {}],
    'says too much': [[{ type: 'text', text: 'x'.repeat(3_000) }], () => {}],
    'is silenced': [[0, { type: 'text', text: 'a' }], (run) => engine.stores.runs.lease(run.runId)],
    'is removed': [[0, { type: 'text', text: 'a' }], (run) => engine.stores.runs.remove(run.runId)]
  }
  for (const [what, [script, act]] of Object.entries(ways)) {
    const run = await engine.start(scriptedRunnable(script), 'x', ada)
    await act(run)
    await run.result().catch(() => {})
    t.equal(engine.active, 0, what)
    await engine.start(hanging, 'x', ada).then((next) => next.cancel())
  }
})

t.test('a session id too large for the log fails only that run', async (t) => {
  const engine = buildEngine(t, { limits: { maxLogBytes: 1_024 } })
  const run = await engine.start(hanging, 'x', { sessionId: 'x'.repeat(2_000) })
  await t.rejects(run.result(), { code: 'RUN_ERR_LOG_LIMIT' })
  t.equal(engine.active, 0)
})

t.test('recovers interrupted runs, but not those in progress', async (t) => {
  const stores = createInProcessStores()
  const crashed = createRunEngine({ stores })
  const left = await crashed.start(scriptedRunnable([{ type: 'data', name: 'a', value: 1 }, 60_000]), 'x')
  left.result().catch(() => {})
  await turn()
  const engine = buildEngine(t, { stores })
  const own = await engine.start(hanging, 'x')
  t.equal(await engine.recover(), 1)
  t.equal(await engine.recover(), 0)
  t.match(await partsOf(left), [
    { seq: 1 },
    { seq: 2 },
    { seq: 3, error: { code: 'RUN_ERR_INTERRUPTED', retryable: true } }
  ])
  t.match(await engine.get(own.runId), { status: 'working' })
  await t.rejects(left.cancel(), { code: 'RUN_ERR_STORE' }, 'its own process may write nothing any more')
  await crashed.close()
})
