import { scriptedRunnable } from '@svc/testing'
import type { RunContext, RunRecord } from '@svc/registry'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

/** An agent that works until it is told to go on. */
function worker() {
  const { promise: started, resolve } = Promise.withResolvers<RunContext>()
  const { promise: told, resolve: goOn } = Promise.withResolvers<void>()
  const runnable = scriptedRunnable([(context) => (resolve(context), told), { type: 'text', text: 'done' }])
  return { runnable, started, goOn }
}

const wanted = { prefer: 'respond-async' }

t.test('an immediate reply with a working Location; the run survives the client', async (t) => {
  const { runnable, started, goOn } = worker()
  const app = await buildApp(t, { runnables: [runnable] })
  const client = new AbortController()
  const response = await app.post('/agents/scripted/run', { input: 'x' }, wanted, client.signal)
  t.equal(response.status, 202)
  t.equal(response.headers.get('preference-applied'), 'respond-async')
  const location = response.headers.get('location') ?? ''
  const record = (await response.json()) as RunRecord
  t.match(record, { runId: response.headers.get('x-run-id'), name: 'scripted', status: /submitted|working/ })
  t.equal(location, `/api/runs/${record.runId}`)
  client.abort()
  const { signal } = await started
  t.match(await (await fetch(app.origin + location)).json(), { runId: record.runId, status: 'working' })
  goOn()
  const parts = await readParts(await fetch(`${app.origin + location}/stream`))
  t.match(parts.at(-1), { type: 'finish', finishReason: 'stop' })
  t.match(await (await fetch(app.origin + location)).json(), {
    status: 'completed',
    result: { text: 'done' }
  })
  t.match(signal.reason, undefined)
})

t.test('forms of the Prefer header', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const status = async (prefer: string) => (await post('/agents/echo/run', { input: 'x' }, { prefer })).status
  for (const prefer of [
    'respond-async',
    'Respond-Async',
    'return="a, wait=10"; respond-async, respond-async',
    'wait=-1, respond-async',
    'respond-async; x=1',
    ' respond-async ',
    'wait=0'
  ])
    t.equal(await status(prefer), 202, prefer)
  for (const prefer of [
    'wait=10',
    'wait=10, respond-async',
    'respond-async, wait=10',
    'respond-asynchronous',
    'x=respond-async',
    'return=minimal',
    'return="a, respond-async',
    ','
  ])
    t.equal(await status(prefer), 200, prefer)
})

t.test('refusals are sent at once as usual', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const send = (path: string, body: object) => post(path, body, wanted)
  await requireError(t, await send('/agents/none/run', { input: 'x' }), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
  await requireError(t, await send('/agents/echo/run', {}), 400, 'RUN_ERR_BAD_INPUT')
  await requireError(t, await send('/agents/echo/run', { input: '' }), 400, 'RUN_ERR_BAD_INPUT')
})

t.test('streams ignore the preference', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const response = await post('/agents/echo/stream', { input: 'x' }, wanted)
  t.equal(response.status, 200)
  t.equal(response.headers.get('preference-applied'), null)
  t.equal((await readParts(response)).length, 3)
})

t.test('Location includes the whole prefix', async (t) => {
  const { origin } = await buildApp(t, { runnables: [echo], options: { prefix: '/v1/api' } as object })
  const headers = { ...wanted, 'content-type': 'application/json' }
  const body = '{"input":"x"}'
  const response = await fetch(`${origin}/v1/api/agents/echo/run`, { method: 'POST', headers, body })
  const location = response.headers.get('location') ?? ''
  t.match(location, /^\/v1\/api\/runs\//)
  t.equal((await fetch(origin + location)).status, 200)
})
