import { createOpenAI } from '@ai-sdk/openai'
import { Type } from '@sinclair/typebox'
import { createRunEngine } from '@svc/registry'
import { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { endsWithin } from '@tools/wires/ends-within'
import t from 'tap'
import { answer, begin, chunk, KEY, refuse, startChatServer, type Answer } from '../helpers/chat-server.ts'
import { collect, makeContext } from '../helpers/make-agent.ts'

// Every fault goes through a real HTTP connection and a real provider package.

const quick = { attempts: 3, baseDelay: 1, maxDelay: 2_000 }

async function runWith(
  t: { teardown(fn: () => unknown): void },
  answers: Answer[],
  options: Partial<AgentOptions> = {}
) {
  const server = await startChatServer(t, answers)
  const agent = new Agent({ name: 'remote', model: server.model, register: false, retry: quick, ...options })
  const { context, logged } = makeContext()
  const begun = performance.now()
  const run = await collect(agent.stream('Hello', context))
  return { ...run, ...server, logged, ms: performance.now() - begun }
}

const attempts = (run: Awaited<ReturnType<typeof runWith>>) =>
  run.ofType('step.start').map((part) => part.attempt)

t.test('an answer, with its usage', async (t) => {
  const run = await runWith(t, [answer('Hel', 'lo')])
  t.equal(run.text, 'Hello')
  t.match(run.parts.at(-1), {
    finishReason: 'stop',
    usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }
  })
})

t.test('a tool call and its result go over the wire', async (t) => {
  const add = defineTool({
    name: 'add',
    description: 'Adds',
    input: Type.Object({ a: Type.Number(), b: Type.Number() }),
    execute: ({ a, b }) => a + b
  })
  const call = { index: 0, id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1,"b":2}' } }
  const toolCall: Answer = (reply) => {
    begin(reply, chunk({ role: 'assistant', tool_calls: [call] }), chunk({}, 'tool_calls'))
    reply.end('data: [DONE]\n\n')
  }
  const run = await runWith(t, [toolCall, answer('3')], { tools: [add] })
  t.match(run.ofType('tool.result'), [{ toolCallId: 'c1', result: 3 }])
  t.match(run.bodies[0]?.['tools'], [{ type: 'function', function: { name: 'add' } }])
  t.match(run.bodies[1]?.['messages'], [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', tool_calls: [{ id: 'c1', function: { name: 'add', arguments: '{"a":1,"b":2}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: '3' }
  ])
})

t.test('429, then an answer', async (t) => {
  const run = await runWith(t, [refuse(429), answer('Hello')])
  t.equal(run.text, 'Hello')
  t.strictSame(attempts(run), [1, 2])
  t.match(run.logged, [
    { level: 'warn', details: { statusCode: 429, attempt: 1 }, message: 'model call failed' }
  ])
})

t.test('429 with Retry-After: the next attempt comes then, and not before', async (t) => {
  for (const headers of [{ 'retry-after-ms': '150' }, { 'retry-after': '0.15' }]) {
    const run = await runWith(t, [refuse(429, 'no', headers), answer('Hello')])
    t.equal(run.text, 'Hello')
    t.ok(run.ms >= 149, `${run.ms} ms`)
  }
})

t.test('429 with a Retry-After longer than the cap ends the retrying at once', async (t) => {
  const run = await runWith(t, [refuse(429, 'no', { 'retry-after': '60' }), answer('Hello')])
  t.match(run.error, { code: 'RUN_ERR_MODEL_RATE_LIMITED', statusCode: 429, retryable: true, retryAfter: 60 })
  t.equal(run.bodies.length, 1)
})

t.test('429 until the attempts are used up', async (t) => {
  const run = await runWith(t, [refuse(429, 'no', { 'retry-after-ms': '5' })])
  t.match(run.error, { code: 'RUN_ERR_MODEL_RATE_LIMITED', statusCode: 429, retryable: true, retryAfter: 1 })
  t.strictSame(attempts(run), [1, 2, 3])
  t.equal(run.bodies.length, 3)
})

t.test('500 and 503 are retried, then fail with 502', async (t) => {
  const mended = await runWith(t, [refuse(500), refuse(503), answer('Hello')])
  t.equal(mended.text, 'Hello')
  const run = await runWith(t, [refuse(500, 'INTERNAL DETAIL')])
  t.match(run.error, { code: 'RUN_ERR_MODEL_FAILED', statusCode: 502, retryable: true })
  t.equal(run.bodies.length, 3)
  t.notMatch(JSON.stringify([run.parts, run.logged, run.error?.message]), 'INTERNAL DETAIL')
})

t.test('other 4xx are not retried', async (t) => {
  for (const status of [400, 404, 408, 409, 422]) {
    const run = await runWith(t, [refuse(status), answer('Hello')])
    t.match(run.error, { code: 'RUN_ERR_MODEL_REFUSED', statusCode: 502, retryable: false }, `${status}`)
    t.equal(run.bodies.length, 1)
  }
})

const reset: Answer = (_reply, request) => void request.socket.resetAndDestroy()

const resetAfterHeaders: Answer = (reply, request) => {
  begin(reply, ': hello\n\n')
  setImmediate(() => request.socket.resetAndDestroy())
}

t.test('a connection that is reset before the first token is tried again', async (t) => {
  const mended = await runWith(t, [reset, resetAfterHeaders, answer('Hello')])
  t.equal(mended.text, 'Hello')
  t.strictSame(attempts(mended), [1, 2, 3])
  const run = await runWith(t, [reset])
  t.match(run.error, { code: 'RUN_ERR_MODEL_UNREACHABLE', statusCode: 502, retryable: true })
})

t.test('nobody listens', async (t) => {
  const closers: (() => unknown)[] = []
  const { model } = await startChatServer({ teardown: (close) => void closers.push(close) }, [answer('x')])
  for (const close of closers) close()
  const agent = new Agent({ name: 'remote', model, register: false, retry: quick })
  const { error } = await collect(agent.stream('Hello'))
  t.match(error, { code: 'RUN_ERR_MODEL_UNREACHABLE' })
})

t.test('a stream that breaks after its first token fails, and is not tried again', async (t) => {
  const ways: Record<string, Answer> = {
    reset: (reply, request) => {
      begin(reply, chunk({ role: 'assistant', content: 'Hel' }))
      setTimeout(() => request.socket.resetAndDestroy(), 20)
    },
    'cut off': (reply) => {
      begin(reply, chunk({ role: 'assistant', content: 'Hel' }))
      reply.end()
    },
    garbage: (reply) => {
      begin(reply, chunk({ role: 'assistant', content: 'Hel' }), 'data: {"choices": oops\n\n')
      reply.end(chunk({ content: 'lo' }, 'stop'))
    },
    'an error inside': (reply) => {
      begin(reply, chunk({ role: 'assistant', content: 'Hel' }))
      reply.end(
        'data: {"error":{"message":"SECRET overloaded","type":"server_error","code":null,"param":null}}\n\n'
      )
    }
  }
  for (const [name, way] of Object.entries(ways)) {
    const run = await runWith(t, [way, answer('Hello')])
    t.equal(run.text, 'Hel', name)
    t.match(run.error, { code: 'RUN_ERR_MODEL_STREAM_BROKEN', statusCode: 502 }, name)
    t.equal(run.bodies.length, 1, name)
    t.notMatch(JSON.stringify([run.parts, run.logged]), 'SECRET')
  }
})

const html: Answer = (reply) => {
  reply.writeHead(200, { 'content-type': 'text/html' })
  reply.end('<html>Gateway</html>')
}

t.test('garbage instead of a stream never counts as an answer', async (t) => {
  const run = await runWith(t, [html])
  t.match(run.error, { statusCode: 502 })
  t.notOk(run.types.includes('finish'))
  const mended = await runWith(t, [html, answer('Hello')])
  t.equal(mended.text, 'Hello')
})

const silent: Answer = () => {}

const pinging: Answer = (reply) => {
  begin(reply)
  const timer = setInterval(() => reply.write(': still here\n\n'), 10)
  reply.on('close', () => clearInterval(timer))
}

const stalls: Answer = (reply) =>
  begin(reply, chunk({ role: 'assistant', content: 'Hel' }), chunk({ content: 'lo' }))

t.test('silence', async (t) => {
  for (const way of [silent, pinging]) {
    const run = await runWith(t, [way], { timeout: { firstToken: 80 } })
    t.match(run.error, { code: 'RUN_ERR_FIRST_TOKEN_TIMEOUT', statusCode: 504 })
    t.ok(run.ms >= 79 && run.ms < 1_000, `${run.ms} ms`)
    t.equal(run.bodies.length, 1, 'is not tried again')
  }
  const stalled = await runWith(t, [stalls], { timeout: { betweenTokens: 200 } })
  t.equal(stalled.text, 'Hello')
  t.match(stalled.error, { code: 'RUN_ERR_TOKEN_TIMEOUT', statusCode: 504 })
  const long = await runWith(t, [stalls], { timeout: { run: 80 } })
  t.match(long.error, { code: 'RUN_ERR_TIMEOUT', statusCode: 504 })
})

t.test('no key at all: one attempt, and the log says which variable to set', async (t) => {
  const key = process.env['OPENAI_API_KEY']
  delete process.env['OPENAI_API_KEY']
  t.teardown(() => key !== undefined && (process.env['OPENAI_API_KEY'] = key))
  const agent = new Agent({
    name: 'keyless',
    model: createOpenAI()('gpt-5-mini'),
    register: false,
    retry: quick
  })
  const { context, logged } = makeContext()
  const run = await collect(agent.stream('Hello', context))
  t.match(run.error, { code: 'RUN_ERR_MODEL_AUTH', statusCode: 502, retryable: false })
  t.match(logged, [
    { level: 'warn', details: { attempt: 1, missing: /OPENAI_API_KEY environment variable/ } }
  ])
  t.equal(logged.length, 1)
  t.match(
    run.error?.cause,
    { name: 'AI_LoadAPIKeyError', message: /OPENAI_API_KEY/ },
    'whoever runs it alone is told'
  )

  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const served = await engine.start(agent, 'Hello')
  const fault = await served.result().then(
    () => undefined,
    (err: Error) => err
  )
  t.match(fault, { code: 'RUN_ERR_MODEL_AUTH', cause: undefined })
  const stored = await engine.stores.runs.get(served.runId)
  t.notMatch(JSON.stringify([fault, stored, await Array.fromAsync(served.parts())]), /OPENAI_API_KEY|cause/)
})

t.test('a 401 that holds the key: it appears nowhere', async (t) => {
  for (const status of [401, 403]) {
    const run = await runWith(t, [refuse(status, `Incorrect API key provided: ${KEY}`, { 'x-echo': KEY })])
    t.match(run.error, { code: 'RUN_ERR_MODEL_AUTH', statusCode: 502, retryable: false })
    t.match(run.logged, [{ details: { statusCode: status, host: /^127\.0\.0\.1/ } }])
    const everything = [
      run.parts,
      run.logged,
      run.error?.stack,
      run.error?.message,
      run.error?.cause,
      Object.entries(run.error ?? {})
    ]
    t.notMatch(JSON.stringify(everything), KEY)
  }
})

t.test('an abort closes the connection within 200 ms', async (t) => {
  const ways: Record<string, (reply: Parameters<Answer>[0]) => void> = {
    'before the first token': () => {},
    'in the middle': (reply) => begin(reply, chunk({ role: 'assistant', content: 'Hel' }))
  }
  for (const [name, way] of Object.entries(ways)) {
    const closed = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const { model } = await startChatServer(t, [
      (reply) => {
        reply.on('close', () => closed.resolve())
        way(reply)
        asked.resolve()
      }
    ])
    const agent = new Agent({ name: 'remote', model, register: false })
    const controller = new AbortController()
    const running = collect(agent.stream('Hello', makeContext({ signal: controller.signal }).context))
    await asked.promise
    await new Promise((resolve) => setTimeout(resolve, 30))
    controller.abort(new Error('gone'))
    t.match((await running).error, { message: 'gone' }, name)
    t.ok(await endsWithin(200, closed.promise), name)
  }
})

t.test('an abort ends the wait for the next attempt', async (t) => {
  const { model, bodies } = await startChatServer(t, [refuse(429, 'no', { 'retry-after': '20' })])
  const agent = new Agent({ name: 'remote', model, register: false })
  const controller = new AbortController()
  const { context, logged } = makeContext({ signal: controller.signal })
  const running = collect(agent.stream('Hello', context))
  while (logged.length === 0) await new Promise(setImmediate)
  controller.abort(new Error('gone'))
  t.match((await running).error, { message: 'gone' })
  t.equal(bodies.length, 1)
})
