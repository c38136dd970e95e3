import type { PartSink, YieldedPart } from '@svc/contract'
import t from 'tap'
import { PushedStream, pushAll } from '../../src/runnables/pushed-parts.ts'

const text = (word: string): YieldedPart => ({ type: 'text', text: word })
const END = { done: true, value: undefined }

/** Pushes words, and notes how far it came. */
function pushing(words: readonly string[], fault?: Error) {
  const log: string[] = []
  const push = async (sink: PartSink) => {
    try {
      for (const word of words) {
        log.push(word)
        const waiting = sink(text(word))
        if (waiting !== undefined) await waiting
      }
      if (fault !== undefined) throw fault
    } catch (err) {
      log.push((err as Error).message)
      throw err
    } finally {
      log.push('end')
    }
  }
  return { log, push }
}

t.test('what is pulled are the parts that are pushed, and nothing runs ahead of the reader', async (t) => {
  const { log, push } = pushing(['a', 'b'])
  const stream = new PushedStream(push)
  t.strictSame(log, [])
  t.strictSame(await stream.next(), { done: false, value: text('a') })
  await new Promise(setImmediate)
  t.strictSame(log, ['a'])
  t.strictSame(await stream.next(), { done: false, value: text('b') })
  t.strictSame(await stream.next(), END)
  t.strictSame(await stream.next(), END)
  t.strictSame(log, ['a', 'b', 'end'])
})

t.test('several requests at once get the parts in their order', async (t) => {
  const { push } = pushing(['a', 'b'])
  const stream = new PushedStream(push)
  const all = await Promise.all([stream.next(), stream.next(), stream.next(), stream.next()])
  t.strictSame(all, [{ done: false, value: text('a') }, { done: false, value: text('b') }, END, END])
})

t.test('an error reaches the reader once', async (t) => {
  const fault = new Error('broken')
  const stream = new PushedStream(pushing(['a'], fault).push)
  await stream.next()
  await t.rejects(stream.next(), fault)
  t.strictSame(await stream.next(), END)
  // It may come while the reader is still busy with a part.
  const early = new PushedStream(async (sink) => {
    void sink(text('a'))
    throw fault
  })
  await early.next()
  await new Promise(setImmediate)
  await t.rejects(early.next(), fault)
  t.strictSame(await early.next(), END)
})

t.test('a reader that leaves ends the run', async (t) => {
  const { log, push } = pushing(['a', 'b'])
  const stream = new PushedStream(push)
  await stream.next()
  t.strictSame(await stream.return(), END)
  t.strictSame(log, ['a', 'The run was canceled', 'end'])
  t.strictSame(await stream.next(), END)
  await t.rejects(new PushedStream(push).throw(new Error('mine')), { message: 'mine' })
})

t.test('a reader that leaves gets first what it has asked for', async (t) => {
  const { log, push } = pushing(['a', 'b'])
  const late = Promise.withResolvers<void>()
  const stream = new PushedStream(async (sink) => {
    await late.promise
    await push(sink)
  })
  const asked = stream.next()
  const left = stream.return()
  late.resolve()
  t.strictSame(await asked, { done: false, value: text('a') })
  t.strictSame(await left, END)
  t.strictSame(log, ['a', 'The run was canceled', 'end'])
})

t.test('what continues after its reader has left is refused again', async (t) => {
  const refused: unknown[] = []
  const stream = new PushedStream(async (sink) => {
    for (const word of ['a', 'b', 'c'])
      try {
        await sink(text(word))
      } catch (err) {
        refused.push((err as { code?: unknown }).code)
      }
  })
  await stream.next()
  await stream.return()
  t.strictSame(refused, ['RUN_ERR_CANCELED', 'RUN_ERR_CANCELED', 'RUN_ERR_CANCELED'])
})

t.test('a stream that is left before it is read does nothing', async (t) => {
  const { log, push } = pushing(['a'])
  const stream = new PushedStream(push)
  t.strictSame(await stream.return(), END)
  t.strictSame(await stream.next(), END)
  t.strictSame(log, [])
})

t.test('the parts of a generator are pushed one after the other, and its value is returned', async (t) => {
  let isOver = false
  async function* parts() {
    try {
      yield text('a')
      yield text('b')
      return 7
    } finally {
      isOver = true
    }
  }
  const got: YieldedPart[] = []
  t.equal(await pushAll(parts(), (part) => void got.push(part)), 7)
  t.strictSame(got, [text('a'), text('b')])
  isOver = false
  const full = new Error('full')
  const refusing = pushAll(parts(), () => Promise.reject(full))
  await t.rejects(refusing, full)
  t.ok(isOver)
})
