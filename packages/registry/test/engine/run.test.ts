import { defineRunnable, expose, type Run, type RunContext, type YieldedPart } from '@svc/registry'
import { toRunRecord } from '../../src/engine/run-record.ts'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

t.test('numbers the parts between start and finish', async (t) => {
  const engine = buildEngine(t)
  const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }
  const run = await engine.start(
    scriptedRunnable([
      { type: 'text', text: 'a' },
      { type: 'step', index: 0, usage },
      { type: 'text', text: 'b' }
    ]),
    'hello',
    { sessionId: 's' }
  )
  const parts = await partsOf(run)
  t.same(
    parts.map(({ seq, type }) => [seq, type]),
    [
      [1, 'start'],
      [2, 'text'],
      [3, 'step'],
      [4, 'text'],
      [5, 'finish']
    ]
  )
  t.match(parts[0], { runId: run.runId, sessionId: 's', kind: 'agent', name: 'scripted' })
  t.match(parts[4], { finishReason: 'stop', usage, structured: null, durationMs: Number })
  t.same(await run.result(), await run.result())
  const stored = await engine.get(run.runId)
  t.match(stored, { status: 'completed', owner: 'anonymous', result: { text: 'ab' } })
  t.match(toRunRecord((await engine.find(run.runId))!), {
    status: 'completed',
    createdAt: /Z$/,
    pendingApprovals: []
  })
  t.same(await partsOf(run, 3), parts.slice(3))
  t.equal(engine.active, 0)
})

t.test('results are delivered together, after the work of their turn', async (t) => {
  const engine = buildEngine(t)
  const texts = [1, 2, 3].map((count) =>
    scriptedRunnable(Array.from({ length: count }, () => ({ type: 'text', text: 'a' }) as const))
  )
  const runs = await Promise.all(texts.map((runnable) => engine.start(runnable, 'x')))
  const active = await Promise.all(runs.map((run) => run.result().then(() => engine.active)))
  t.same(active, [0, 0, 0])
})

t.test('parts after the finish are ignored, and the stream is closed', async (t) => {
  const engine = buildEngine(t)
  let left = false
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'a',
    async *stream() {
      try {
        yield { type: 'finish', finishReason: 'length' } as const
        yield { type: 'text', text: 'too late' } as const
      } finally {
        left = true
      }
    }
  })
  const run = await engine.start(runnable, 'x')
  t.match(await run.result(), { finishReason: 'length', text: '' })
  t.equal((await partsOf(run)).length, 2)
  t.ok(left)
})

t.test('the message of an unmarked error is hidden, an exposed one is shown', async (t) => {
  const engine = buildEngine(t)
  const failing = (err: unknown) =>
    scriptedRunnable([
      { type: 'text', text: 'a' },
      () => {
        throw err
      }
    ])
  const forged = { code: 'RUN_ERR_NOT_FOUND', message: 'secret', statusCode: 404 }
  const foreign = [new Error('secret'), 'secret', undefined, null, { code: 'secret', message: 'secret' }]
  for (const err of [...foreign, forged, Object.assign(new Error('secret'), forged)]) {
    const run = await engine.start(failing(err), 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_FAILED', statusCode: 500, message: 'The run failed' })
    t.notMatch(JSON.stringify([await partsOf(run), await engine.get(run.runId)]), /secret/)
  }
  const own = expose({ code: 'SLOW_DOWN', message: 'slow down', statusCode: 429, retryAfter: 3 })
  const run = await engine.start(failing(own), 'x')
  await t.rejects(run.result(), { code: 'SLOW_DOWN', statusCode: 429, retryAfter: 3, retryable: true })
  t.match((await partsOf(run)).at(-1), {
    type: 'error',
    error: { code: 'SLOW_DOWN', message: 'slow down', retryable: true }
  })
  t.match(await engine.get(run.runId), { status: 'failed' })
})

const cyclic: Record<string, unknown> = {}
cyclic['self'] = cyclic
const badParts: unknown[] = [
  null,
  undefined,
  'text',
  [],
  {},
  { type: 'nothing' },
  { type: '__proto__' },
  { type: 'constructor' },
  { type: 'text' },
  { type: 'text', text: 5 },
  { type: 'tool.call' },
  { type: 'tool.approval.request' },
  { type: 'tool.approval.response' },
  { type: 'tool.result', toolCallId: 'a', toolName: 'b', result: 1n, durationMs: 1 },
  { type: 'tool.result', toolCallId: 'a', toolName: 'b', result: cyclic, durationMs: 1 },
  { type: 'finish' },
  { type: 'finish', finishReason: 'because' },
  { type: 'finish', finishReason: 'stop', structured: 1n },
  { type: 'structured', value: cyclic },
  { type: 'error' }
]
for (const [index, part] of badParts.entries()) {
  t.test(`bad part ${index} fails the run`, async (t) => {
    const engine = buildEngine(t)
    const runnable = defineRunnable({
      kind: 'agent',
      name: 'bad',
      async *stream() {
        yield part as YieldedPart
      }
    })
    const run = await engine.start(runnable, 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_BAD_PART' })
    t.equal((await partsOf(run)).at(-1)?.type, 'error')
  })
}

t.test('a part cannot set its number, or be changed afterwards', async (t) => {
  const engine = buildEngine(t)
  const args = { a: 1 }
  const run = await engine.start(
    scriptedRunnable([
      { type: 'text', text: 'a', seq: 99 } as never,
      { type: 'tool.call', toolCallId: 'c', toolName: 't', args },
      () => void (args.a = 2)
    ]),
    'x'
  )
  t.match(await run.result(), { toolCalls: [{ args: { a: 1 } }] })
  t.match(await partsOf(run), [{ seq: 1 }, { seq: 2 }, { seq: 3, args: { a: 1 } }, { seq: 4 }])
})

t.test('a log has a size limit', async (t) => {
  const engine = buildEngine(t, { limits: { maxLogBytes: 2_000 } })
  const run = await engine.start(
    scriptedRunnable(Array.from({ length: 99 }, () => ({ type: 'text', text: 'x'.repeat(100) }))),
    'x'
  )
  await t.rejects(run.result(), { code: 'RUN_ERR_LOG_LIMIT' })
  t.equal((await partsOf(run)).at(-1)?.type, 'error')
})

t.test('refuses an invalid input', async (t) => {
  const engine = buildEngine(t)
  const runnable = scriptedRunnable([])
  for (const input of [
    '',
    [],
    undefined,
    null,
    5,
    {},
    [{ type: 'text' }],
    [{ type: 'image', mimeType: 'a/b' }],
    [{ type: 'text', text: 'a', x: 1 }]
  ])
    await t.rejects(engine.start(runnable, input), {
      code: 'RUN_ERR_BAD_INPUT',
      statusCode: 400,
      errors: [{ path: /^input/ }]
    })
  await engine.start(runnable, [
    { type: 'image', mimeType: 'a/b', data: 'AAAA' },
    { type: 'text', text: 'a' }
  ])
  t.equal((await engine.list({ limit: 9 })).runs.length, 1)
})

t.test('a step runs once per key', async (t) => {
  const engine = buildEngine(t)
  const results: unknown[] = []
  let calls = 0
  const run = await engine.start(
    scriptedRunnable([
      async (context) => {
        const count = async () => ({ call: ++calls, gone: undefined })
        results.push(await context.step('a', count), await context.step('a', count))
        results.push(await context.child('m').step('a', count), await context.step('b', () => undefined))
      }
    ]),
    'x'
  )
  await run.result()
  t.same(results, [{ call: 1 }, { call: 1 }, { call: 2 }, undefined])
})

t.test('the context has the caller', async (t) => {
  const engine = buildEngine(t)
  const seen: unknown[] = []
  const runnable = scriptedRunnable([
    async (context) => {
      const child = context.child('a').child('b')
      const decision = await context.authorize('run', { kind: 'agent', name: 'x' })
      seen.push(
        context.sessionOwner,
        context.apiKey('openai')?.reveal(),
        child.source,
        decision,
        child.signal === context.signal
      )
    }
  ])
  const ada = { sub: 'ada', scopes: [] }
  const authorize = () => ({ allowed: false, missing: 'agents:run' }) as const
  await (
    await engine.start(runnable, 'x', { principal: ada, userId: 'u', apiKey: (p) => `${p}-key`, authorize })
  ).result()
  await (await engine.start(runnable, 'x', { userId: 'u' })).result()
  await (await engine.start(runnable, 'x')).result()
  t.same(seen, [
    'ada',
    'openai-key',
    ['a', 'b'],
    { allowed: false, missing: 'agents:run' },
    true,
    'u',
    undefined,
    ['a', 'b'],
    { allowed: true },
    true,
    'anonymous',
    undefined,
    ['a', 'b'],
    { allowed: true },
    true
  ])
})

t.test('the signal aborts if the run fails or is canceled, not if it ends well', async (t) => {
  const engine = buildEngine(t)
  const fault = new Error('failed')
  const ends: [string, (run: Run) => Promise<string>, boolean][] = [
    ['well', async () => 'done', false],
    ['failed', () => Promise.reject(fault), true],
    ['canceled', (run) => (run.cancel(), new Promise(() => {})), true]
  ]
  for (const [name, act, isAborted] of ends) {
    const seen = Promise.withResolvers<RunContext>()
    const started = Promise.withResolvers<Run>()
    const runnable = defineRunnable({
      kind: 'agent',
      name,
      async run(_input, context) {
        seen.resolve(context)
        return act(await started.promise)
      }
    })
    const run = await engine.start(runnable, 'x')
    started.resolve(run)
    await run.result().catch(() => {})
    const { signal } = await seen.promise
    t.equal(signal.aborted, isAborted, name)
    if (name === 'failed') t.equal(signal.reason, fault)
  }
})
