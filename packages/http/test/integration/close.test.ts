import { once } from 'node:events'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { readParts, sendRaw } from '../helpers/event-stream.ts'

// The default of Fastify, which waits for connections that are in use.
const fastify = { forceCloseConnections: 'idle' } as const
const endless = scriptedRunnable([{ type: 'text', text: 'on and on' }, 600_000])

t.test('closing ends runs, streams and connections', async (t) => {
  const { app, post, get, runs } = await buildApp(t, { runnables: [endless], fastify })
  const started = await post('/agents/scripted/stream', { input: 'x' })
  const watched = await get(`/runs/${started.headers.get('x-run-id')}/stream`)
  const running = post('/agents/scripted/run', { input: 'x' })
  while (runs.active < 2) await new Promise(setImmediate)

  const before = performance.now()
  await app.close()
  t.ok(performance.now() - before < 5_000)
  for (const stream of [started, watched])
    t.match((await readParts(stream)).at(-1), { type: 'error', error: { code: 'RUN_ERR_INTERRUPTED' } })
  const response = await running
  t.equal(response.status, 500)
  t.match(await response.json(), { code: 'RUN_ERR_INTERRUPTED' })
})

t.test('a run that ends while the app drains is complete', async (t) => {
  const short = scriptedRunnable([{ type: 'text', text: 'nearly' }, 200, { type: 'text', text: ' done' }])
  const { app, post } = await buildApp(t, { runnables: [short], fastify, engine: { drainTimeout: 5_000 } })
  const stream = await post('/agents/scripted/stream', { input: 'x' })
  const closed = app.close()
  const parts = await readParts(stream)
  t.match(parts.at(-1), { type: 'finish', finishReason: 'stop' })
  await closed
})

t.test('a client that does not read does not delay the close', async (t) => {
  const big = scriptedRunnable([
    ...Array.from({ length: 100 }, () => ({ type: 'text' as const, text: 'x'.repeat(100_000) })),
    600_000
  ])
  const { app, origin } = await buildApp(t, { runnables: [big], fastify })
  const body = '{"input":"x"}'
  const socket = await sendRaw(
    origin,
    `POST /api/agents/scripted/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
  socket.on('error', () => {})
  const [head] = (await once(socket, 'data')) as [Buffer]
  t.match(String(head), /200 OK/)
  socket.pause()
  const before = performance.now()
  await app.close()
  t.ok(performance.now() - before < 5_000)
  socket.destroy()
})

t.test('a stream of another process’s run ends with the engine', async (t) => {
  const { app, post, runs } = await buildApp(t, { runnables: [endless], fastify })
  const { stores } = runs
  // As if the run were at work on another node: nothing here ends its log.
  const stream = await post('/agents/scripted/stream', { input: 'x', onDisconnect: 'continue' })
  const runId = stream.headers.get('x-run-id') ?? ''
  const { append } = stores.log
  stores.log.append = (id, ...rest) => (id === runId ? undefined : append.call(stores.log, id, ...rest))
  const text = stream.text()
  await app.close()
  t.match(await text, /"type":"start"/)
  t.notMatch(await text, /"type":"(?:finish|error)"/)
})
