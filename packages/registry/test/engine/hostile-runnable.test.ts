import {
  collectRun,
  createRunEngine,
  defineRunnable,
  type Part,
  type RunLog,
  type YieldedPart
} from '@svc/registry'
import { PART_SCHEMAS } from '@svc/contract'
import { scriptedRunnable } from '@svc/testing'
import { FormatRegistry, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const PartSchema = Type.Union(Object.values(PART_SCHEMAS))

FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)))

const yielding = (...parts: unknown[]) => scriptedRunnable(parts as YieldedPart[])

const evilErrors: Record<string, () => unknown> = {
  'a code that throws': () => ({
    get code() {
      throw new Error('trap')
    }
  }),
  'a message without text': () => ({ code: 'RUN_ERR_X', message: Object.create(null) as object }),
  'a proxy that throws at everything': () =>
    new Proxy(new Error('x'), {
      get() {
        throw new Error('trap')
      }
    }),
  'a cause that is itself': () => {
    const err = new Error('loop')
    err.cause = err
    return err
  }
}
for (const [what, make] of Object.entries(evilErrors)) {
  t.test(`an error with ${what} fails the run`, async (t) => {
    const engine = buildEngine(t)
    const run = await engine.start(
      scriptedRunnable([
        () => {
          throw make()
        }
      ]),
      'x'
    )
    await t.rejects(run.result(), { code: 'RUN_ERR_FAILED' })
    t.match((await partsOf(run)).at(-1), { type: 'error' })
    t.equal(engine.active, 0)
  })
}

t.test('a logger that throws does not keep a run from ending', async (t) => {
  const refuse = () => {
    throw new Error('the log is full')
  }
  const log: RunLog = { debug: refuse, info: refuse, warn: refuse, error: refuse }
  const engine = buildEngine(t, { log })
  const run = await engine.start(
    scriptedRunnable([
      () => {
        throw new Error('fails')
      }
    ]),
    'x'
  )
  await t.rejects(run.result(), { code: 'RUN_ERR_FAILED' })
  t.equal(engine.active, 0)
})

/** A stream with one part and a custom `return`. */
const streamLeftBy = (leave: () => unknown) =>
  defineRunnable({
    kind: 'agent',
    name: 'own-iterator',
    stream: () => ({
      [Symbol.asyncIterator]: () => {
        let told = false
        return {
          next: () => {
            if (told) return new Promise<never>(() => {})
            told = true
            return Promise.resolve({ done: false, value: { type: 'text', text: 'a' } as const })
          },
          return: leave as () => Promise<IteratorResult<YieldedPart>>
        }
      }
    })
  })

const leavings: Record<string, () => unknown> = {
  'no promise': () => ({ done: true, value: undefined }),
  undefined: () => undefined,
  'a throw': () => {
    throw new Error('leave me')
  },
  'a rejection': () => Promise.reject(new Error('leave me')),
  'a promise that never settles': () => new Promise(() => {})
}
for (const [what, leave] of Object.entries(leavings)) {
  t.test(`a run whose iterator's return is ${what} can be canceled`, async (t) => {
    const engine = buildEngine(t)
    const run = await engine.start(streamLeftBy(leave), 'x')
    const result = run.result()
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(await run.cancel(), true)
    t.match(await result, { finishReason: 'canceled', text: 'a' })
    t.equal(engine.active, 0)
  })
}

for (const [what, stream] of Object.entries<() => unknown>({
  undefined: () => undefined,
  'a promise': async () => scriptedRunnable([]),
  'a list': () => [{ type: 'text', text: 'a' }],
  'an iterator of nothing': () => ({ [Symbol.asyncIterator]: () => ({ next: () => undefined }) }),
  'a throw': () => {
    throw new Error('secret')
  }
})) {
  t.test(`a stream that yields ${what} fails the run`, async (t) => {
    const engine = buildEngine(t)
    const run = await engine.start(defineRunnable({ kind: 'agent', name: 'a', stream: stream as never }), 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_FAILED' })
    t.same(
      (await partsOf(run)).map(({ type }) => type),
      ['start', 'error']
    )
  })
}

for (const part of [
  { type: 'text', text: 'a', source: 'member' },
  { type: 'text', text: 'a', source: [5] },
  { type: 'text', text: 'a', toJSON: () => ({ type: 'finish', finishReason: 'stop' }) },
  { type: 'structured', value: 1, toJSON: () => ({ type: 'finish', finishReason: 'stop' }) },
  { type: 'finish', finishReason: 'stop', usage: { promptTokens: NaN, completionTokens: 0, totalTokens: 0 } }
]) {
  t.test(`${JSON.stringify({ ...part, toJSON: undefined })} is not a part`, async (t) => {
    const engine = buildEngine(t)
    const run = await engine.start(yielding(part), 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_BAD_PART' })
    t.same(
      (await partsOf(run)).map(({ type }) => type),
      ['start', 'error']
    )
  })
}

t.test('the message names the invalid field of a finish', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(yielding({ type: 'finish', finishReason: 'because' }), 'x')
  await t.rejects(run.result(), { message: /bad part: finish\/finishReason: expected/ })
})

t.test('a required value without JSON becomes null', async (t) => {
  const engine = buildEngine(t)
  const call = { toolCallId: 'c', toolName: 't' }
  const run = await engine.start(
    yielding(
      { type: 'tool.call', ...call, args: undefined },
      { type: 'tool.result', ...call, result: () => {}, durationMs: 1 },
      { type: 'structured', value: Symbol('x') }
    ),
    'x'
  )
  const { toolCalls, structured } = await run.result()
  t.strictSame([toolCalls[0]?.args, toolCalls[0]?.result, structured], [null, null, null])
  for (const part of await partsOf(run)) t.ok(Value.Check(PartSchema, part), part.type)
})

t.test('the result is built from the log, not from objects the runnable can change', async (t) => {
  const engine = buildEngine(t)
  const structured = { at: new Date(0), list: [1], gone: undefined }
  const run = await engine.start(yielding({ type: 'finish', finishReason: 'stop', structured }), 'x')
  const result = await run.result()
  structured.list.push(2)
  t.same(result.structured, { at: '1970-01-01T00:00:00.000Z', list: [1] })
  t.strictSame(await collectRun(await partsOf(run)), result)
  t.strictSame((await engine.get(run.runId))?.result, result)
})

t.test('the finish of a member does not end the run, and is kept whole', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(
    yielding(
      { type: 'finish', finishReason: 'length', source: ['member'] },
      {
        type: 'error',
        error: { code: 'RUN_ERR_X', message: 'x', retryable: false },
        source: ['member']
      },
      { type: 'text', text: 'on' }
    ),
    'x'
  )
  t.match(await run.result(), { text: 'on', finishReason: 'stop' })
  const parts = await partsOf(run)
  t.equal(parts.length, 5)
  for (const part of parts) t.ok(Value.Check(PartSchema, part), part.type)
})

t.test('the log has only valid parts and one end, whatever is yielded', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const type = fc.constantFrom(...Object.keys(PART_SCHEMAS), 'nothing')
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true })
  const part = fc.record(
    {
      type,
      text: fc.string({ unit: 'binary' }),
      toolCallId: fc.string(),
      toolName: fc.string(),
      args: anything,
      result: anything,
      value: anything,
      durationMs: fc.nat(),
      index: fc.nat(),
      attempt: fc.nat(),
      usage: fc.constant({ promptTokens: 1, completionTokens: 1, totalTokens: 2 }),
      finishReason: fc.constantFrom('stop', 'canceled', 'because'),
      structured: anything,
      source: fc.constantFrom(['m'], []),
      error: fc.constant({ code: 'RUN_ERR_X', message: 'x', retryable: false }),
      seq: fc.nat(),
      at: anything,
      name: fc.string(),
      transient: fc.constantFrom(true, undefined),
      mimeType: fc.string(),
      size: fc.nat(),
      url: fc.webUrl(),
      quote: fc.string(),
      delta: fc.string(),
      model: fc.constant({ provider: 'p', modelId: 'm' }),
      firstTokenMs: fc.nat()
    },
    { requiredKeys: ['type'] }
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 19, arbitrary: part }, anything), { maxLength: 6 }),
      async (yielded) => {
        const run = await engine.start(yielding(...yielded.filter((each) => typeof each === 'object')), 'x')
        const result = await run.result().catch(() => undefined)
        const parts = await partsOf(run)
        for (const [index, each] of parts.entries()) {
          if (each.seq !== index + 1) throw new Error(`seq ${each.seq} at ${index}`)
          const before = parts[index - 1]?.at ?? 0
          if (!Number.isInteger(each.at) || each.at < before) throw new Error(`at ${each.at} at ${index}`)
          if (each.type === 'data' && each.transient) throw new Error('a transient part in the log')
          if (!Value.Check(PartSchema, each)) throw new Error(`no part: ${JSON.stringify(each)}`)
          const ends = (each.type === 'finish' || each.type === 'error') && !each.source?.length
          if (ends !== (index === parts.length - 1)) throw new Error(`${each.type} at ${index}`)
        }
        if (result !== undefined) t.strictSame(await collectRun(parts as Part[]), result)
      }
    ),
    { numRuns: cases(300) }
  )
})
