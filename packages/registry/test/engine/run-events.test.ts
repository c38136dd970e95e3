import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Value } from '@sinclair/typebox/value'
import {
  channelName,
  createEventBus,
  createInProcessStores,
  defineRunnable,
  expose,
  type EventBus,
  type RunEventMap,
  type YieldedPart
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { RUN_EVENT_SCHEMAS } from '@svc/contract'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const NAMES = Object.keys(RUN_EVENT_SCHEMAS) as (keyof RunEventMap)[]
const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 }

/** Collects all events of a bus, each checked against its schema. */
function listen({ strictSame }: Pick<typeof t, 'strictSame'>, bus: EventBus) {
  const seen: [event: string, fields: Record<string, unknown>][] = []
  for (const name of NAMES)
    bus.on(name, (event) => {
      strictSame([...Value.Errors(RUN_EVENT_SCHEMAS[name], event)], [], name)
      seen.push([name, { ...event }])
    })
  return seen
}

t.test('the engine emits start, chunks and end of every run once', async (t) => {
  const events = createEventBus()
  const seen = listen(t, events)
  const engine = buildEngine(t, { events })
  const runnable = defineRunnable({
    kind: 'team',
    name: 'by hand',
    async *stream(): AsyncGenerator<YieldedPart> {
      yield { type: 'text', text: 'one ' }
      yield { type: 'text', text: 'of a member', source: ['m'] }
      yield { type: 'step', index: 0, usage }
      yield { type: 'text', text: 'two' }
    }
  })
  const run = await engine.start(runnable, 'x', { sessionId: 's' })
  await run.result()
  const origin = { runId: run.runId, name: 'by hand', kind: 'team', idempotencyKey: run.runId }
  t.match(seen, [
    ['run.start', { ...origin, sessionId: 's' }],
    ['run.stream.chunk', { ...origin, text: 'one ' }],
    ['run.stream.chunk', { ...origin, text: 'two' }],
    ['run.complete', { ...origin, sessionId: 's', finishReason: 'stop', usage, durationMs: Number }]
  ])
  t.equal(seen.length, 4)
  t.notOk(seen.some(([, fields]) => 'source' in fields))
})

t.test('a runnable with its own run(), and one that fails', async (t) => {
  const events = createEventBus()
  const seen = listen(t, events)
  const engine = buildEngine(t, { events })
  const ends = async (run: () => never | string) => {
    seen.length = 0
    const started = await engine.start(defineRunnable({ kind: 'agent', name: 'a', run }), 'x')
    await started.result().catch(() => {})
    return seen.map(([event, { text, error }]) => [event, text ?? error])
  }
  t.strictSame(await ends(() => 'whole'), [
    ['run.start', undefined],
    ['run.stream.chunk', 'whole'],
    ['run.complete', undefined]
  ])
  const error = (thrown: unknown) => () => {
    throw thrown as Error
  }
  t.match(await ends(error(new Error('secret'))), [
    ['run.start', undefined],
    ['run.error', { code: 'RUN_ERR_FAILED', message: 'The run failed', retryable: false }]
  ])
  t.match(await ends(error(expose({ code: 'BUSY', message: 'Later', statusCode: 429 }))), [
    ['run.start', undefined],
    ['run.error', { code: 'BUSY', message: 'Later', retryable: true }]
  ])
  t.match(await ends(() => 5 as never), [['run.start'], ['run.error', { code: 'RUN_ERR_BAD_RESULT' }]])
})

t.test('the last event agrees with the record: canceled, suspended, or with a failed log', async (t) => {
  const events = createEventBus()
  const seen = listen(t, events)
  const endsOf = () =>
    seen.splice(0).map(([event, { finishReason, error }]) => [event, finishReason ?? error])
  const engine = buildEngine(t, { events })
  const canceled = await engine.start(scriptedRunnable([60_000]), 'x')
  await canceled.cancel()
  t.match(endsOf(), [['run.start'], ['run.complete', 'canceled']])

  const bad = await engine.start(scriptedRunnable([{ type: 'text', text: 5 } as never]), 'x')
  await bad.result().catch(() => {})
  t.match(endsOf(), [['run.start'], ['run.error', { code: 'RUN_ERR_BAD_PART' }]])

  const stores = createInProcessStores()
  const broken = buildEngine(t, { events, stores })
  const run = await broken.start(
    scriptedRunnable([
      () =>
        void t.intercept(stores.log, 'append', { value: () => Promise.reject(new Error('the disk is full')) })
    ]),
    'x'
  )
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
  t.match(endsOf(), [['run.start'], ['run.error', { code: 'RUN_ERR_STORE' }]], 'and not complete')

  const closing = buildEngine(t, { events })
  await closing.start(scriptedRunnable([60_000]), 'x')
  await closing.close()
  t.match(endsOf(), [['run.start'], ['run.error', { code: 'RUN_ERR_INTERRUPTED' }]])
})

t.test('chunks never contain pieces of a key', async (t) => {
  const key = 'sk-caller-0123456789'
  const events = createEventBus()
  const seen = listen(t, events)
  const engine = buildEngine(t, { events })
  const texts = ['It is ', key.slice(0, 5), key.slice(5), '. Not sk-']
  const parts: YieldedPart[] = texts.map((text) => ({ type: 'text', text }))
  const runnable = scriptedRunnable([
    ...parts,
    { type: 'structured', value: 1 },
    { type: 'text', text: 'x sk-' }
  ])
  await (await engine.start(runnable, 'x', { redact: createRedact([key])! })).result()
  t.strictSame(
    seen.slice(1, -1).map(([, { text }]) => text),
    ['It is ', '[redacted]', '. Not ', 'sk-', 'x ', 'sk-']
  )
})

t.test('diagnostics channels have them too; late subscribers receive the rest', async (t) => {
  const engine = buildEngine(t)
  const heard: string[] = []
  const hear = (_: unknown, name: string | symbol) => void heard.push(String(name))
  t.teardown(() => NAMES.forEach((name) => unsubscribe(channelName(name), hear)))
  const { promise, resolve } = Promise.withResolvers<void>()
  const run = await engine.start(
    scriptedRunnable([{ type: 'text', text: 'a' }, () => promise, { type: 'text', text: 'b' }]),
    'x'
  )
  await new Promise(setImmediate)
  for (const name of NAMES) subscribe(channelName(name), hear)
  resolve()
  await run.result()
  t.strictSame(heard, ['svc:run.stream.chunk', 'svc:run.complete'])
  t.equal((await partsOf(run)).length, 3)
})

t.test('no event is built without listeners', async (t) => {
  const events = createEventBus()
  t.intercept(events, 'emit', { value: () => t.fail('something is emitted') })
  const engine = buildEngine(t, { events })
  await (await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')).result()
  t.pass()
})
