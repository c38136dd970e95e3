import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { createInProcessStores } from '@svc/registry'
import { createSseStream, encodeSse } from '../../src/sse/sse-stream.ts'
import { codeOf, scriptedRunnable, type ScriptedAct } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Stores in memory whose log can be broken: every later read throws synchronously. */
function breakableStores() {
  const stores = createInProcessStores()
  let fault: Error | undefined
  const read: typeof stores.log.read = (...args) => {
    if (fault !== undefined) throw fault
    return stores.log.read(...args)
  }
  return {
    stores: { ...stores, log: { ...stores.log, read } },
    break: (err: Error) => void (fault = err)
  }
}

t.test('a log that fails while the stream waits ends only the stream, with an error message', async (t) => {
  const breakable = breakableStores()
  const engine = buildEngine(t, { stores: breakable.stores })
  const go = Promise.withResolvers<void>()
  const run = await engine.start(scriptedRunnable([() => go.promise, { type: 'text', text: 'a' }]), 'x')
  const seen = textOf(createSseStream(engine, run.runId))
  for (let turns = 0; turns < 3; turns++) await turn()
  breakable.break(new Error('gone'))
  go.resolve()
  const [start, fault, ...rest] = (await seen).split(/(?<=\n\n)/)
  t.match(start, /"type":"start".*\nid: 1\n/)
  t.match(
    fault,
    /^data: \{"type":"error","at":\d+,"error":\{"code":"RUN_ERR_STORE",.*"retryable":true\}\}\n\n$/
  )
  t.same(rest, [])
  t.match(await run.result(), { text: 'a' })
})

t.test('a log with invalid JSON destroys the stream', async (t) => {
  const { log, ...stores } = createInProcessStores()
  const read: typeof log.read = async () => [
    {
      seq: 1,
      json: '{"seq":1,"type":"finish"',
      get part(): never {
        throw new SyntaxError('no JSON')
      }
    }
  ]
  const engine = buildEngine(t, { stores: { ...stores, log: { ...log, read } } })
  const run = await engine.start(scriptedRunnable([]), 'x')
  await t.rejects(textOf(createSseStream(engine, run.runId)), { message: 'no JSON' })
})

t.test('refuses a position that is not a part number', async (t) => {
  const engine = buildEngine(t)
  for (const after of [-1, 0.5, NaN])
    t.equal(await codeOf(() => createSseStream(engine, 'x', { after })), 'REG_ERR_BAD_OPTION')
})

t.test('a stream from the end of an ended run is empty and ends', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable([]), 'x')
  await run.result()
  for (const after of [2, 99])
    t.equal(await textOf(createSseStream(engine, run.runId, { after })), '', String(after))
  t.equal(await textOf(createSseStream(engine, 'nobody')), '')
})

t.test('the bytes are the same however the stream is read', async (t) => {
  const engine = buildEngine(t)
  const acts: ScriptedAct[] = ['é', '𝄞'.repeat(40_000), '\ud800', 'x'.repeat(70_000), '𝄞'].flatMap((text) => [
    0,
    { type: 'text' as const, text }
  ])
  const run = await engine.start(scriptedRunnable(acts), 'x')
  const live = textOf(createSseStream(engine, run.runId))
  await run.result()
  const expected = (await partsOf(run)).map((part) => encodeSse(part.seq, JSON.stringify(part))).join('')
  t.equal(await live, expected)
  for (const size of [1_000, 32_768, 100_000]) {
    const stream = Readable.fromWeb(createSseStream(engine, run.runId))
    const chunks: Buffer[] = []
    stream.on('readable', () => {
      for (let chunk: unknown; (chunk = stream.read(Math.min(size, stream.readableLength || size))) !== null;)
        chunks.push(chunk as Buffer)
    })
    await once(stream, 'end')
    t.equal(Buffer.concat(chunks).toString(), expected, `${size} bytes at a time`)
  }
})

t.test('a slow reader of long texts gets short chunks, in any script', async (t) => {
  const engine = buildEngine(t)
  for (const letter of ['x', '漢']) {
    const part = { type: 'text' as const, text: letter.repeat(2_000) }
    const run = await engine.start(scriptedRunnable(Array.from({ length: 2_000 }, () => part)), 'x')
    await run.result()
    const reader = createSseStream(engine, run.runId).getReader()
    for (let reads = 0; reads < 20; reads++) {
      const { value = '' } = await reader.read()
      t.ok(value.length > 0 && value.length < 37_000, `${value.length} characters`)
    }
    await reader.cancel()
  }
})

t.test('no heartbeat is sent while parts arrive, nor to a client that does not read', async (t) => {
  const engine = buildEngine(t)
  const acts = Array.from({ length: 30 }, (): ScriptedAct[] => [1, { type: 'text', text: 'a' }]).flat()
  const run = await engine.start(scriptedRunnable(acts), 'x')
  const silent = createSseStream(engine, run.runId, { heartbeat: 1 }).getReader()
  await silent.read()
  t.notMatch(await textOf(createSseStream(engine, run.runId, { heartbeat: 60_000 })), /^:/m)
  const { value } = await silent.read()
  t.match(value, /"type":"finish"/, 'the next chunk is the log, not a queue of comments')
  t.notMatch(value, /^:/m)
})

t.test('a client that disconnects during a read is released', async (t) => {
  const { log, ...stores } = createInProcessStores()
  const go = Promise.withResolvers<void>()
  let following = 0
  const follow: typeof log.follow = (...args) => {
    following++
    const unfollow = log.follow(...args)
    return () => {
      following--
      unfollow()
    }
  }
  const read: typeof log.read = async (...args) => {
    await go.promise
    return log.read(...args)
  }
  const engine = buildEngine(t, { stores: { ...stores, log: { ...log, read, follow } } })
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  const reader = createSseStream(engine, run.runId).getReader()
  const reading = reader.read()
  await turn()
  await reader.cancel()
  go.resolve()
  t.same(await reading, { done: true, value: undefined })
  await turn()
  t.equal(following, 0)
  t.equal((await engine.get(run.runId))?.status, 'working')
})
