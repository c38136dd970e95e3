import { scriptedRunnable } from '@svc/testing'
import type { RunContext, RunRecord, RunResult } from '@svc/registry'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

/** An agent that works until it may end. */
function worker() {
  const { promise: started, resolve } = Promise.withResolvers<RunContext>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const runnable = scriptedRunnable([
    (context) => (resolve(context), released),
    { type: 'text', text: 'done' }
  ])
  return { runnable, started, release }
}

const applied = (response: Response) => response.headers.get('preference-applied')

t.test('a run that ends in time is answered with its result', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const response = await post('/agents/echo/run', { input: 'x' }, { prefer: 'wait=60' })
  t.equal(response.status, 200)
  t.equal(applied(response), 'wait=60')
  t.equal(response.headers.get('location'), null)
  t.match(await response.json(), { text: 'x' })
})

t.test('a run that takes longer is answered with its record, and continues', async (t) => {
  const { runnable, started, release } = worker()
  const { post, get, origin } = await buildApp(t, { runnables: [runnable] })
  const response = await post('/agents/scripted/run', { input: 'x' }, { prefer: 'wait=1' })
  t.equal(response.status, 202)
  t.equal(applied(response), 'wait=1')
  const { runId, status } = (await response.json()) as RunRecord
  t.equal(status, 'working')
  const location = response.headers.get('location')
  t.equal(location, `/api/runs/${runId}`)
  release()
  t.match((await readParts(await fetch(`${origin}${location}/stream`))).at(-1), { type: 'finish' })
  t.match(await (await get(`/runs/${runId}`)).json(), { status: 'completed', result: { text: 'done' } })
  t.notOk((await started).signal.aborted)
})

t.test('a run survives a client that disconnects while it waits', async (t) => {
  const { runnable, started, release } = worker()
  const { post, runs } = await buildApp(t, { runnables: [runnable] })
  const client = new AbortController()
  const asking = post('/agents/scripted/run', { input: 'x' }, { prefer: 'wait=60' }, client.signal)
  const { runId, signal } = await started
  client.abort()
  await t.rejects(asking)
  release()
  for await (const _ of runs.parts(runId));
  t.match(await runs.find(runId), { status: 'completed' })
  t.notOk(signal.aborted)
})

t.test('a run that fails in time is answered with its error', async (t) => {
  const failing = scriptedRunnable([
    () => {
      throw new Error('secret')
    }
  ])
  const { post } = await buildApp(t, { runnables: [failing] })
  const response = await post('/agents/scripted/run', { input: 'x' }, { prefer: 'wait=60' })
  t.equal(applied(response), 'wait=60')
  await requireError(t, response, 500, 'RUN_ERR_FAILED')
})

t.test('both preferences: at once only after the time', async (t) => {
  const { runnable, release } = worker()
  const { post } = await buildApp(t, { runnables: [runnable, echo] })
  const quick = await post('/agents/echo/run', { input: 'x' }, { prefer: 'respond-async, wait=60' })
  t.equal(quick.status, 200)
  t.equal(applied(quick), 'wait=60')
  const slow = await post('/agents/scripted/run', { input: 'x' }, { prefer: 'Wait="1", respond-async' })
  t.equal(slow.status, 202)
  t.equal(applied(slow), 'respond-async, wait=1')
  release()
})

t.test('bad values are ignored, the first of several counts, and a long wait is cut', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const answered = async (prefer: string) => {
    const response = await post('/agents/echo/run', { input: 'x' }, { prefer })
    return [response.status, applied(response)]
  }
  for (const bad of ['wait=-1', 'wait=abc', 'wait', 'wait=', 'wait=1.5', 'wait=1e3', 'wait=""', 'x; wait=5'])
    t.strictSame(await answered(bad), [200, null], bad)
  t.strictSame(await answered('wait=-1, respond-async'), [202, 'respond-async'])
  t.strictSame(await answered('wait=20, wait=0'), [200, 'wait=20'])
  t.strictSame(await answered('wait=0, wait=20'), [202, 'wait=0'])
  t.strictSame(await answered(`wait=${'9'.repeat(400)}`), [200, 'wait=600'])
  t.strictSame(await answered(`x="${'\\"'.repeat(4_000)}, wait=5`), [200, null])
})

t.test('a retry with the same Idempotency-Key waits for the same run', async (t) => {
  const { runnable, release } = worker()
  const { post } = await buildApp(t, { runnables: [runnable] })
  const ask = (wait: number) =>
    post('/agents/scripted/run', { input: 'x' }, { prefer: `wait=${wait}`, 'idempotency-key': 'once' })
  const first = await ask(0)
  t.equal(first.status, 202)
  const retried = ask(60)
  release()
  const second = await retried
  t.equal(second.status, 200)
  t.equal(second.headers.get('idempotency-replayed'), 'true')
  const { runId, text } = (await second.json()) as RunResult
  t.strictSame([runId, text], [first.headers.get('x-run-id'), 'done'])
})
