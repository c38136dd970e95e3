import { setTimeout as pause } from 'node:timers/promises'
import { expose, type RunContext } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo, type TestApp } from '../helpers/build-app.ts'
import { readParts } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'
import { formOf } from '../helpers/upload-app.ts'

/** An agent that counts its runs. */
function counter(name = 'counter') {
  const contexts: RunContext[] = []
  const { promise: told, resolve: goOn } = Promise.withResolvers<void>()
  const runnable = scriptedRunnable(
    [(context) => void contexts.push(context), { type: 'text', text: 'once' }],
    { name }
  )
  const slow = scriptedRunnable(
    [(context) => (contexts.push(context), told), { type: 'text', text: 'slow' }],
    {
      name: 'slow'
    }
  )
  return { runnable, slow, contexts, goOn }
}

const idOf = (response: Response) => response.headers.get('x-run-id')
const isReplay = (response: Response) => response.headers.get('idempotency-replayed') === 'true'
const key = (value = 'k') => ({ 'idempotency-key': value })

for (const verb of ['run', 'stream']) {
  t.test(`${verb}: the same key is the same run, also when it has ended`, async (t) => {
    const { runnable, contexts } = counter()
    const { post } = await buildApp(t, { runnables: [runnable] })
    const path = `/agents/counter/${verb}`
    const first = await post(path, { input: 'x', sessionId: 's' }, key())
    const text = await first.text()
    const second = await post(path, { input: 'x', sessionId: 's' }, key())
    t.equal(second.status, 200)
    t.equal(idOf(second), idOf(first))
    t.strictSame([isReplay(first), isReplay(second)], [false, true])
    t.equal(await second.text(), text)
    const other = await post(path, { input: 'x', sessionId: 's' }, key('k2'))
    t.not(idOf(other), idOf(first))
    t.not(idOf(await post(path, { input: 'x', sessionId: 's' })), idOf(first), 'without a key')
    t.equal(contexts.length, 3)
  })
}

t.test('concurrent requests start one run', async (t) => {
  const { slow, contexts, goOn } = counter()
  const { post } = await buildApp(t, { runnables: [slow] })
  const asked = Array.from({ length: 20 }, (_, i) =>
    post(`/agents/slow/run`, { input: 'x', onDisconnect: 'continue' }, key(i % 2 === 0 ? 'a' : 'b'))
  )
  await pause(100)
  t.equal(contexts.length, 2)
  goOn()
  const responses = await Promise.all(asked)
  t.equal(new Set(responses.map(idOf)).size, 2)
  t.equal(responses.filter((each) => !isReplay(each)).length, 2)
})

t.test('another body is refused', async (t) => {
  const { runnable, contexts } = counter()
  const { post } = await buildApp(t, { runnables: [runnable] })
  const body = { input: 'x', sessionId: 's' }
  await (await post('/agents/counter/run', body, key())).text()
  const others = [
    { input: 'y', sessionId: 's' },
    { input: 'x' },
    { ...body, onDisconnect: 'continue' },
    { ...body, userId: 'u' }
  ]
  for (const other of others)
    await requireError(t, await post('/agents/counter/run', other, key()), 422, 'RUN_ERR_KEY_REUSED')
  const again = await post('/agents/counter/run', { ...body, apiKey: 'sk-other' }, key())
  t.ok(isReplay(again), 'a key for the provider is no part of what is asked')
  t.equal(contexts.length, 1)
})

t.test('keys are separate by route, runnable and owner', async (t) => {
  const { runnable } = counter()
  const app = await buildSecuredApp(t, { runnables: [runnable, echo] })
  const [ann, bob] = [app.as('ann', 'agents:run'), app.as('bob', 'agents:run')]
  const ids: (string | null)[] = []
  for (const [caller, path] of [
    [ann, '/agents/counter/run'],
    [ann, '/agents/counter/stream'],
    [ann, '/agents/echo/run'],
    [bob, '/agents/counter/run']
  ] as const) {
    const response = await app.ask('POST', path, { ...caller, ...key() }, { input: 'x' })
    t.equal(response.status, 200)
    t.notOk(isReplay(response), path)
    ids.push(idOf(response))
    await response.text()
  }
  t.equal(new Set(ids).size, 4)
  const spelled = await app.ask('POST', '/%61gents/counter/run', { ...ann, ...key() }, { input: 'x' })
  t.equal(idOf(spelled), ids[0], 'another spelling of the route is the same route')
})

t.test('invalid keys', async (t) => {
  const { runnable, contexts } = counter()
  const { post } = await buildApp(t, { runnables: [runnable] })
  for (const bad of ['', ' ', 'a b', 'a\tb', 'é', 'x'.repeat(256)]) {
    const response = await post('/agents/counter/run', { input: 'x' }, key(bad))
    const { code } = (await response.json()) as { code: string }
    t.equal(response.status, 400, JSON.stringify(bad))
    t.match(code, /^HTTP_ERR_(?:BAD_IDEMPOTENCY_KEY|VALIDATION)$/)
  }
  t.equal(contexts.length, 0)
  for (const good of ['x'.repeat(255), '"quoted"', '!~', '__proto__'])
    t.equal((await post('/agents/counter/run', { input: 'x' }, key(good))).status, 200, good)
})

t.test('an immediate reply', async (t) => {
  const { runnable } = counter()
  const { post } = await buildApp(t, { runnables: [runnable] })
  const headers = { ...key(), prefer: 'respond-async' }
  const first = await post('/agents/counter/run', { input: 'x' }, headers)
  const second = await post('/agents/counter/run', { input: 'x' }, headers)
  t.strictSame([first.status, second.status], [202, 202])
  t.equal(first.headers.get('location'), second.headers.get('location'))
  const waiting = await post('/agents/counter/run', { input: 'x' }, key())
  t.match(await waiting.json(), { text: 'once', runId: idOf(first) })
})

t.test('uploads are part of the hashed body', async (t) => {
  const { runnable, contexts } = counter()
  const { url } = await buildApp(t, { runnables: [runnable], options: { fileUpload: true } })
  const send = (content: string, name = 'a.txt', type = 'text/plain') =>
    fetch(`${url}/agents/counter/run`, {
      method: 'POST',
      headers: key(),
      body: formOf({ input: 'x' }, [content, type, name])
    })
  const first = await send('abc')
  t.equal(first.status, 200)
  const again = await send('abc')
  t.ok(isReplay(again))
  t.equal(idOf(again), idOf(first))
  await requireError(t, await send('abd'), 422, 'RUN_ERR_KEY_REUSED')
  await requireError(t, await send('abc', 'b.txt'), 422, 'RUN_ERR_KEY_REUSED')
  t.equal(contexts.length, 1)
})

/** Starts a run twice under one key; both clients wait. */
async function startTwice(app: TestApp, contexts: RunContext[], verb: string) {
  const [starter, replayer] = [new AbortController(), new AbortController()]
  const send = (client: AbortController) =>
    app
      .post(`/agents/slow/${verb}`, { input: 'x' }, key(), client.signal)
      .then((it) => it.text())
      .catch(() => 'gone')
  const first = send(starter)
  while (contexts.length === 0) await pause(5)
  const second = send(replayer)
  await pause(50)
  return { starter, replayer, first, second, signal: contexts[0]!.signal }
}

for (const verb of ['run', 'stream']) {
  t.test(`${verb}: who replays and leaves cancels nothing`, async (t) => {
    const { slow, contexts, goOn } = counter()
    const app = await buildApp(t, { runnables: [slow] })
    const { replayer, first, second, signal } = await startTwice(app, contexts, verb)
    replayer.abort()
    t.equal(await second, 'gone')
    await pause(50)
    t.equal(signal.aborted, false)
    goOn()
    t.match(await first, 'slow')
  })

  t.test(`${verb}: who started it and leaves cancels it`, async (t) => {
    const { slow, contexts } = counter()
    const app = await buildApp(t, { runnables: [slow] })
    const { starter, second, signal } = await startTwice(app, contexts, verb)
    starter.abort()
    t.match(await second, 'canceled')
    t.equal(signal.aborted, true)
  })
}

t.test('a failed run is replayed, not retried', async (t) => {
  let calls = 0
  const fails = scriptedRunnable([
    () => {
      calls++
      throw expose({ code: 'RUN_ERR_MODEL_RATE_LIMITED', message: 'full', statusCode: 429 })
    }
  ])
  const { post } = await buildApp(t, { runnables: [fails] })
  for (let i = 0; i < 2; i++) {
    const response = await post('/agents/scripted/run', { input: 'x' }, key())
    await requireError(t, response, 429, 'RUN_ERR_MODEL_RATE_LIMITED')
  }
  const parts = await readParts(await post('/agents/scripted/stream', { input: 'x' }, key()))
  t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_MODEL_RATE_LIMITED' } })
  t.equal(calls, 2, 'the stream is another route')
})
