import { text as textOf } from 'node:stream/consumers'
import { createInProcessStores } from '@svc/registry'
import { createSseStream, encodeSse } from '../../src/sse/sse-stream.ts'
import { scriptedRunnable } from '@svc/testing'
import { cases } from '@tools/wires/volume'
import { createParser } from 'eventsource-parser'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

/** Parses a stream as a client that follows the specification. */
function parse(stream: string): { id: string | undefined; data: string }[] {
  const events: { id: string | undefined; data: string }[] = []
  const parser = createParser({ onEvent: ({ id, data }) => events.push({ id, data }) })
  parser.feed(stream)
  return events
}

t.test('any part becomes one message, and is parsed back unchanged', async (t) => {
  const evil = fc.string({
    unit: fc.constantFrom(
      '\n',
      '\r',
      '\u2028',
      '\u2029',
      ':',
      'data: x',
      'id: 9',
      '\u0000',
      '\ud800',
      '𝄞',
      'a'
    )
  })
  fc.assert(
    fc.property(fc.nat(), fc.oneof(evil, fc.json(), fc.string({ unit: 'binary' })), (seq, text) => {
      const json = JSON.stringify({ seq, type: 'text', text })
      t.same(parse(encodeSse(seq, json)), [{ id: String(seq), data: json }])
    }),
    { numRuns: cases(300) }
  )
})

t.test('line separators are escaped', async (t) => {
  const engine = buildEngine(t)
  const text = 'a\u2028data: b\u2029\u2028\\u2028'
  const run = await engine.start(scriptedRunnable([{ type: 'text', text }]), 'x')
  await run.result()
  const stream = await textOf(createSseStream(engine, run.runId, { after: 0 }))
  t.notMatch(stream, /[\u2028\u2029]/)
  t.match(JSON.parse(parse(stream)[1]?.data ?? ''), { text })
})

t.test('a stream has every part once, small or large, from any position', async (t) => {
  const engine = buildEngine(t)
  const sizes = [1, 10, 32_768, 32_700, 100_000, 0, 5, 40_000, 7]
  const run = await engine.start(
    scriptedRunnable(
      sizes.map((size) => ({ type: 'text', text: '𝄞'.repeat(size >> 1) + 'x'.repeat(size & 1) }))
    ),
    'x'
  )
  await run.result()
  const parts = await partsOf(run)
  for (let after = 0; after <= parts.length; after++) {
    const stream = createSseStream(engine, run.runId, { after })
    const events = parse(await (after === parts.length ? '' : textOf(stream)))
    if (after === parts.length) await stream.cancel()
    t.same(
      events.map(({ data }) => JSON.parse(data) as unknown),
      parts.slice(after)
    )
    t.same(
      events.map(({ id }) => Number(id)),
      parts.slice(after).map(({ seq }) => seq)
    )
  }
})

t.test('it follows a run in progress', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(
    scriptedRunnable(['a', 'b', 'c'].flatMap((text) => [2, { type: 'text' as const, text }])),
    'x'
  )
  const events = parse(await textOf(createSseStream(engine, run.runId)))
  t.same(
    events.map(({ data }) => JSON.parse(data) as unknown),
    await partsOf(run)
  )
})

t.test('a client that does not read costs little memory', async (t) => {
  const engine = buildEngine(t)
  for (const size of [50, 5_000, 2_000_000]) {
    const count = Math.ceil(6_000_000 / size)
    const run = await engine.start(
      scriptedRunnable(
        Array.from({ length: Math.min(count, 20_000) }, () => ({ type: 'text', text: 'x'.repeat(size) }))
      ),
      'x'
    )
    await run.result()
    const reads = t.captureFn(engine.stores.log.read)
    const log = { ...engine.stores.log, read: reads }
    const reader = createSseStream({ stores: { ...engine.stores, log } }, run.runId).getReader()
    const { value = '' } = await reader.read()
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    t.ok(value.length > 0 && value.length <= 131_072, `${value.length} characters are sent`)
    t.equal(reads.calls.length, 1, 'nothing is read ahead')
    await reader.cancel()
  }
})

t.test('it sends heartbeats while the log is idle', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  const stream = createSseStream(engine, run.runId, { heartbeat: 5 })
  let seen = ''
  const keepAlive = setInterval(() => {}, 1_000)
  for await (const chunk of stream) {
    seen += chunk
    if (seen.endsWith(':\n\n:\n\n')) break
  }
  clearInterval(keepAlive)
  t.equal(parse(seen).length, 1)
  t.equal((await engine.get(run.runId))?.status, 'working', 'who leaves does not disturb the run')
})

t.test('a client that disconnects is released', async (t) => {
  const stores = createInProcessStores()
  let following = 0
  const { log } = stores
  const counting = {
    ...stores,
    log: {
      ...log,
      follow(...args: Parameters<typeof log.follow>) {
        following++
        const unfollow = log.follow(...args)
        return () => {
          following--
          unfollow()
        }
      }
    }
  }
  const engine = buildEngine(t, { stores: counting })
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  const readers = [1, 2, 3].map(() => createSseStream(engine, run.runId).getReader())
  for (const reader of readers) void reader.read()
  t.equal(following, 3)
  for (const reader of readers) await reader.cancel()
  t.equal(following, 0)
})

t.test('a log that cannot be read breaks the stream', async (t) => {
  const engine = buildEngine(t)
  const { log } = engine.stores
  const broken = {
    stores: { ...engine.stores, log: { ...log, read: async () => Promise.reject(new Error('gone')) } }
  }
  const run = await engine.start(scriptedRunnable([]), 'x')
  await t.rejects(textOf(createSseStream(broken, run.runId)), { message: 'gone' })
})
