import { text as textOf } from 'node:stream/consumers'
import { createInProcessStores, type Run, type RunEngine } from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import { createSseStream } from '@svc/surface'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const failed = {
  status: 'failed',
  at: 9,
  error: { code: 'RUN_ERR_INTERRUPTED', message: 'x', retryable: true, statusCode: 500 }
} as const
const last = entryFromJson(2, '{"seq":2,"type":"error","error":{}}')

/** Starts a reader of each kind; returns a function that resolves with what they read. */
async function readersOf(engine: RunEngine, run: Run) {
  const heartbeat = 60_000
  const [sse, parts] = [textOf(createSseStream(engine, run.runId, { heartbeat })), partsOf(run)]
  await turn()
  return async () => [await sse, (await parts).length] as const
}

t.test('readers of a run whose lease was lost end at the end of the log', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const go = Promise.withResolvers<void>()
  const run = await engine.start(scriptedRunnable([() => go.promise, { type: 'text', text: 'late' }]), 'x')
  const seen = await readersOf(engine, run)
  await stores.runs.lease(run.runId)
  go.resolve()
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
  const [sse, parts] = await seen()
  t.match(sse, /"type":"start"/)
  t.notMatch(sse, /late/)
  t.equal(parts, 1)
})

t.test('readers of a run ended elsewhere see its end even without a notification', async (t) => {
  const stores = createInProcessStores()
  const silent = { ...stores, log: { ...stores.log, follow: () => () => {} } }
  const engine = buildEngine(t, { stores: silent })
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  const stream = createSseStream(engine, run.runId, { heartbeat: 20 })
  const keepAlive = setInterval(() => {}, 1_000)
  const all = textOf(stream)
  await turn()
  await stores.log.append(run.runId, (await stores.runs.lease(run.runId))!, [last], failed)
  t.match(await all, /"type":"error"/)
  clearInterval(keepAlive)
})

t.test('a terminal record ends the stream, with or without a last part', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  const find: typeof stores.runs.find = async (runId) => {
    const found = await stores.runs.find(runId)
    return found && { ...found, status: 'failed' }
  }
  const others = { stores: { ...stores, runs: { ...stores.runs, find } } }
  const keepAlive = setInterval(() => {}, 1_000)
  const all = await textOf(createSseStream(others, run.runId, { heartbeat: 20 }))
  t.match(all, /"type":"start"/)
  clearInterval(keepAlive)
})
