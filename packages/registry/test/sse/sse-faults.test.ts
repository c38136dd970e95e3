import { once } from 'node:events'
import { createInProcessStores } from '@svc/registry'
import { createSseStream, encodeSse } from '@svc/registry/sse'
import { codeOf, scriptedRunnable, type ScriptedAct } from '@svc/registry/testing'
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
  const seen = createSseStream(engine, run.runId).toArray()
  await turn()
  breakable.break(new Error('gone'))
  go.resolve()
  const [start, fault, ...rest] = Buffer.concat((await seen) as Buffer[])
    .toString()
    .split(/(?<=\n\n)/)
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
  const [err] = (await once(createSseStream(engine, run.runId).resume(), 'error')) as [Error]
  t.equal(err.message, 'no JSON')
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
    t.same(await createSseStream(engine, run.runId, { after }).toArray(), [], String(after))
  t.same(await createSseStream(engine, 'nobody').toArray(), [])
})

t.test('the bytes are the same however the stream is read', async (t) => {
  const engine = buildEngine(t)
  const acts: ScriptedAct[] = ['é', '𝄞'.repeat(40_000), '\ud800', 'x'.repeat(70_000), '𝄞'].flatMap((text) => [
    0,
    { type: 'text' as const, text }
  ])
  const run = await engine.start(scriptedRunnable(acts), 'x')
  const live = createSseStream(engine, run.runId).toArray()
  await run.result()
  const expected = (await partsOf(run)).map((part) => encodeSse(part.seq, JSON.stringify(part))).join('')
  t.equal(Buffer.concat((await live) as Buffer[]).toString(), expected)
  for (const size of [1_000, 32_768, 100_000]) {
    const stream = createSseStream(engine, run.runId)
    const chunks: Buffer[] = []
    stream.on('readable', () => {
      for (let chunk: unknown; (chunk = stream.read(Math.min(size, stream.readableLength || size))) !== null;)
        chunks.push(chunk as Buffer)
    })
    await once(stream, 'end')
    t.equal(Buffer.concat(chunks).toString(), expected, `${size} bytes at a time`)
  }
})

t.test('a slow reader of long texts has little buffered, in any script', async (t) => {
  const engine = buildEngine(t)
  for (const [text, most] of [
    ['x', 65_536],
    ['漢', 131_072]
  ] as const) {
    const part = { type: 'text' as const, text: text.repeat(2_000) }
    const run = await engine.start(scriptedRunnable(Array.from({ length: 2_000 }, () => part)), 'x')
    await run.result()
    const stream = createSseStream(engine, run.runId)
    let longest = 0
    for (let reads = 0; reads < 20; reads++) {
      stream.read(7)
      await turn()
      longest = Math.max(longest, stream.readableLength)
    }
    t.ok(longest > 0 && longest < most, `${longest} bytes`)
    stream.destroy()
  }
})

t.test('no heartbeat is sent while parts arrive', async (t) => {
  const engine = buildEngine(t)
  const acts = Array.from({ length: 30 }, (): ScriptedAct[] => [1, { type: 'text', text: 'a' }]).flat()
  const run = await engine.start(scriptedRunnable(acts), 'x')
  const silent = createSseStream(engine, run.runId, { heartbeat: 1 })
  silent.read(0)
  const chunks = (await createSseStream(engine, run.runId, { heartbeat: 60_000 }).toArray()) as Buffer[]
  t.notMatch(Buffer.concat(chunks).toString(), /^:/m)
  t.ok(silent.readableLength < 65_536, 'who does not read gets no heap of comments')
  silent.destroy()
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
  const stream = createSseStream(engine, run.runId).resume()
  await turn()
  stream.destroy()
  go.resolve()
  await once(stream, 'close')
  await turn()
  t.equal(following, 0)
  t.equal((await engine.get(run.runId))?.status, 'working')
})
