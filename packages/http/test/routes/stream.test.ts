import { once } from 'node:events'
import compress from '@fastify/compress'
import { scriptedRunnable } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { parseMessages, readAll, sendRaw } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

t.test('the parts of a run, each one message with its number', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const response = await post('/agents/echo/stream', { input: 'hi', sessionId: 's' })
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(response.headers.get('cache-control'), 'no-store, no-transform')
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  const runId = response.headers.get('x-run-id')
  const text = await response.text()
  t.match(text, /^data: \{"seq":1,"type":"start",.*\}\nid: 1\n\ndata: .*\nid: 2\n\ndata: .*\nid: 3\n\n$/)
  t.match(parseMessages(text), [
    { id: '1', part: { seq: 1, type: 'start', runId, sessionId: 's', kind: 'agent', name: 'echo' } },
    { id: '2', part: { seq: 2, type: 'text', text: 'hi' } },
    { id: '3', part: { seq: 3, type: 'finish', finishReason: 'stop' } }
  ])
})

t.test('an error before the first byte is JSON, a later one is a part', async (t) => {
  const broken = scriptedRunnable([
    { type: 'text', text: 'so far' },
    () => {
      throw new Error('a secret')
    }
  ])
  const { post } = await buildApp(t, { runnables: [broken] })
  await requireError(t, await post('/agents/none/stream', { input: 'x' }), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
  await requireError(t, await post('/agents/scripted/stream', { input: '' }), 400, 'RUN_ERR_BAD_INPUT')
  const text = await (await post('/agents/scripted/stream', { input: 'x' })).text()
  t.match(parseMessages(text).at(-1)?.part, { type: 'error', error: { code: 'RUN_ERR_FAILED' } })
  t.notMatch(text, /secret/)
})

t.test('hooks and headers of the app apply to streams', async (t) => {
  const { post } = await buildApp(t, {
    runnables: [echo],
    before: (app) =>
      app.addHook('onSend', async (_request, reply) => {
        reply.header('access-control-allow-origin', '*')
      })
  })
  const response = await post('/agents/echo/stream', { input: 'hi' })
  t.equal(response.headers.get('access-control-allow-origin'), '*')
  await response.text()
})

t.test('hooks that wrap streams get one that they know', async (t) => {
  const { post } = await buildApp(t, {
    runnables: [echo],
    before: (app) => app.register(compress, { threshold: 0, customTypes: /event-stream/ })
  })
  const input = 'hi '.repeat(1_000)
  const response = await post('/agents/echo/stream', { input }, { 'accept-encoding': 'gzip' })
  t.equal(response.headers.get('content-encoding'), 'gzip')
  t.match(parseMessages(await response.text())[1]?.part, { type: 'text', text: input })
})

t.test('what a run logs in one turn of the event loop is one write', async (t) => {
  const texts = Array.from({ length: 20 }, (_, index) => ({ type: 'text' as const, text: `${index}` }))
  let writes = 0
  const { post } = await buildApp(t, {
    runnables: [scriptedRunnable(texts)],
    before: (app) =>
      app.addHook('onRequest', async (_request, { raw }) => {
        const write = raw.write.bind(raw) as (chunk: unknown) => boolean
        raw.write = (chunk: unknown) => (writes++, write(chunk))
      })
  })
  const response = await post('/agents/scripted/stream', { input: 'x' })
  t.equal(parseMessages(await response.text()).length, 22)
  t.equal(writes, 1)
})

t.test('a silent stream sends heartbeats', async (t) => {
  const { origin } = await buildApp(t, {
    runnables: [scriptedRunnable([60_000])],
    options: { heartbeat: 20 }
  })
  const body = '{"input":"x"}'
  const socket = await sendRaw(
    origin,
    `POST /api/agents/scripted/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
  let text = ''
  while ((text.match(/\r\n:\n\n\r\n/g) ?? []).length < 3) text += String((await once(socket, 'data'))[0])
  t.equal(parseMessages(text.slice(text.indexOf('data:'))).length, 1)
  socket.destroy()
})

t.test('text cannot forge a message', async (t) => {
  const texts: string[] = []
  const speaker = scriptedRunnable([])
  const { post } = await buildApp(t, {
    runnables: [
      {
        ...speaker,
        name: 'speaker',
        async *stream() {
          for (const text of texts) yield { type: 'text', text, source: [text] }
        }
      }
    ]
  })
  const nasty = fc.constantFrom(
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    '\u2028',
    '\u2029',
    '\u0085',
    'data: {}',
    'id: 9',
    ':',
    '\0'
  )
  const text = fc.array(fc.oneof(nasty, fc.string()), { maxLength: 8 }).map((pieces) => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (said) => {
      texts.splice(0, texts.length, ...said)
      const stream = await (await post('/agents/speaker/stream', { input: 'x' })).text()
      const messages = parseMessages(stream)
      t.strictSame(
        messages.map(({ id }) => id),
        messages.map((_, index) => String(index + 1))
      )
      const heard = messages.flatMap(({ part }) => (part.type === 'text' ? [part.text] : []))
      t.strictSame(heard, said)
      t.equal(messages.length, said.length + 2)
    }),
    { numRuns: 60 }
  )
})

t.test('HTTP/1.0 gets the whole stream', async (t) => {
  const { origin } = await buildApp(t, { runnables: [echo] })
  const body = '{"input":"x"}'
  const head = `POST /api/agents/echo/stream HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`
  const text = await readAll(await sendRaw(origin, `${head}\r\n\r\n${body}`))
  t.equal(parseMessages(text.slice(text.indexOf('data:'))).length, 3)
})
