import { createInProcessStores, type Awaitable, type LogEntry, type Stores } from '@svc/registry'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

/** Stores in memory whose writes take a turn of the event loop, and can be made to fail. */
function slowStores(
  failing: (what: 'create' | 'append', entries: readonly LogEntry[]) => Error | undefined = () => undefined
): Stores {
  const stores = createInProcessStores()
  let last: Promise<unknown> = Promise.resolve()
  const later = async <T>(
    what: 'create' | 'append',
    entries: readonly LogEntry[],
    write: () => Awaitable<T>
  ): Promise<T> => {
    const before = last
    const turn = new Promise((resolve) => setImmediate(resolve))
    last = turn
    await before
    await turn
    const fault = failing(what, entries)
    if (fault !== undefined) throw fault
    return write()
  }
  return {
    ...stores,
    runs: { ...stores.runs, create: (run) => later('create', [], () => stores.runs.create(run)) },
    log: { ...stores.log, append: (...args) => later('append', args[2], () => stores.log.append(...args)) }
  }
}

t.test('a slow store gives the same result', async (t) => {
  const engine = buildEngine(t, { stores: slowStores() })
  const texts = Array.from({ length: 40 }, (_, index) => ({ type: 'text' as const, text: `${index} ` }))
  const run = await engine.start(scriptedRunnable([...texts, 5, ...texts]), 'x')
  const live = partsOf(run)
  const result = await run.result()
  const stored = await engine.get(run.runId)
  t.equal(stored?.status, 'completed', 'nobody is told of the end before it is written')
  t.same(stored?.result, result)
  const parts = await partsOf(run)
  t.same(await live, parts)
  t.same(
    parts.map(({ seq }) => seq),
    Array.from({ length: 82 }, (_, index) => index + 1)
  )
})

t.test('a run does not outpace its store', async (t) => {
  let most = 0
  let yielded = 0
  let written = 0
  const stores = slowStores((what, entries) => {
    if (what === 'append') written += entries.length
    return undefined
  })
  const engine = buildEngine(t, { stores })
  const text = 'x'.repeat(10_000)
  const acts = Array.from({ length: 300 }, () => [
    () => void (most = Math.max(most, ++yielded - written)),
    { type: 'text' as const, text }
  ]).flat()
  await (await engine.start(scriptedRunnable(acts), 'x')).result()
  t.ok(most < 80, `${most} parts ahead`)
})

t.test('a run that cannot be stored is not started', async (t) => {
  const engine = buildEngine(t, {
    stores: slowStores((what) => (what === 'create' ? new Error('disk full') : undefined))
  })
  t.equal(await codeOf(() => engine.start(scriptedRunnable([]), 'x')), 'RUN_ERR_STORE')
  t.equal(engine.active, 0)
})

t.test('a failed log write ends the run', async (t) => {
  const broken = (entries: readonly LogEntry[]) => entries.some(({ json }) => json.includes('break'))
  const engine = buildEngine(t, {
    stores: slowStores((_what, entries) => (broken(entries) ? new Error('disk full') : undefined))
  })
  const aborted = Promise.withResolvers<void>()
  const run = await engine.start(
    scriptedRunnable([
      (context) => context.signal.addEventListener('abort', () => aborted.resolve()),
      { type: 'text', text: 'break' },
      60_000
    ]),
    'x'
  )
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE', statusCode: 503 })
  await aborted.promise
  t.equal(engine.active, 0)
})

t.test('a run whose end cannot be written does not succeed', async (t) => {
  const broken = (entries: readonly LogEntry[]) => entries.some(({ json }) => json.includes('finish'))
  const engine = buildEngine(t, {
    stores: slowStores((_what, entries) => (broken(entries) ? new Error('disk full') : undefined))
  })
  const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
})

t.test('a run that lost its lease writes nothing', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const go = Promise.withResolvers<void>()
  const run = await engine.start(scriptedRunnable([() => go.promise, { type: 'text', text: 'mine' }]), 'x')
  await stores.runs.lease(run.runId)
  go.resolve()
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
  const entries = await stores.log.read(run.runId, 0, { entries: 9, bytes: 1e6 })
  t.same(
    entries.map(({ part }) => part.type),
    ['start']
  )
})
