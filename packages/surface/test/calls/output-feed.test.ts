import type { VoiceOutput } from '@svc/contract'
import t from 'tap'
import { OutputFeed } from '../../src/calls/outputs.ts'
import { TestConnection } from '../helpers/call-surface.ts'

const FORMAT = { type: 'audio/pcm', rate: 24_000 } as const
const MIB = 1_048_576

/** An output whose text is its position. */
const text = (position: number): VoiceOutput => ({
  type: 'text',
  responseId: 'r',
  itemId: 'i',
  delta: String(position)
})
const audio = (itemId: string, startMs: number, bytes: number): VoiceOutput => ({
  type: 'audio',
  responseId: 'r',
  itemId,
  startMs,
  audio: new Uint8Array(bytes)
})

function fill(feed: OutputFeed, count: number): void {
  for (let position = 1; position <= count; position++) void feed.push(text(position), FORMAT)
}

/** Two outputs for a connection that takes no more until it is drained. */
function sendTwo() {
  const feed = new OutputFeed()
  const connection = new TestConnection()
  const full = Promise.withResolvers<void>()
  connection.full = full.promise
  feed.connect(connection, 0)
  const sent = [feed.push(text(1), FORMAT), feed.push(text(2), FORMAT)]
  const drain = () => {
    connection.full = undefined
    full.resolve()
  }
  return { feed, connection, sent, drain }
}

t.test('outputs before the first connection wait for it, in order', async (t) => {
  const feed = new OutputFeed()
  fill(feed, 3)
  const connection = new TestConnection()
  feed.connect(connection, 0)
  t.same(connection.positions, [1, 2, 3])
  t.equal(feed.push(text(4), FORMAT), undefined, 'a connection that takes more needs no promise')
  t.same(connection.positions, [1, 2, 3, 4])
})

t.test('a full connection gets no more, and the sender waits', async (t) => {
  const { connection, sent, drain } = sendTwo()
  t.same(connection.positions, [1])
  drain()
  for (const each of sent) await each
  t.same(connection.positions, [1, 2])
})

t.test('a lost connection that was full does not hold back the next one', async (t) => {
  const feed = new OutputFeed()
  const lost = new TestConnection()
  lost.full = new Promise(() => {})
  feed.connect(lost, 0)
  const sent = feed.push(text(1), FORMAT)
  fill(feed, 2)
  t.ok(feed.disconnect(lost))
  t.notOk(feed.disconnect(lost))
  const next = new TestConnection()
  feed.connect(next, 0)
  await sent
  t.same(next.positions, [1, 2, 3])
  t.same(lost.positions, [1])
})

t.test('a resumed one gets what follows; without a position only what is new', async (t) => {
  const feed = new OutputFeed()
  fill(feed, 5)
  for (const [after, positions] of [
    [0, [1, 2, 3, 4, 5]],
    [3, [4, 5]],
    [5, []],
    [undefined, []]
  ] as const) {
    const connection = new TestConnection()
    feed.connect(connection, after)
    t.same(connection.positions, positions, `after ${after}`)
  }
  t.throws(() => feed.connect(new TestConnection(), 6), { code: 'VOICE_ERR_BAD_AFTER' })
  t.throws(() => feed.requireAfter(6), { code: 'VOICE_ERR_BAD_AFTER' })
})

t.test('a replaced connection is notified, and gets nothing more', async (t) => {
  const feed = new OutputFeed()
  const [first, second] = [new TestConnection(), new TestConnection()]
  feed.connect(first, 0)
  feed.connect(second, 0)
  fill(feed, 1)
  t.equal(first.end, 'replaced')
  t.same([first.positions, second.positions], [[], [1]])
  t.notOk(feed.disconnect(first), 'its loss does not concern the call')
})

t.test('the oldest outputs are dropped beyond 4 MiB, never ones that were not sent', async (t) => {
  const feed = new OutputFeed()
  const connection = new TestConnection()
  feed.connect(connection, 0)
  for (let index = 0; index < 6; index++) void feed.push(audio('i', index * 20_000, MIB), FORMAT)
  t.throws(() => feed.requireAfter(2), { code: 'VOICE_ERR_OUTPUT_GONE', message: /from position 3 on/ })
  feed.requireAfter(3)

  const slow = new OutputFeed()
  const full = new TestConnection()
  full.full = new Promise(() => {})
  slow.connect(full, 0)
  for (let index = 0; index < 6; index++) void slow.push(audio('i', index * 20_000, MIB), FORMAT)
  slow.requireAfter(1)
})

t.test('what was played is not kept, and a position must be one that was sent', async (t) => {
  const feed = new OutputFeed()
  feed.connect(new TestConnection(), 0)
  for (let index = 0; index < 10; index++) void feed.push(audio('answer', index * 100, 4_800), FORMAT)
  t.throws(() => feed.played('other', 1), { code: 'VOICE_ERR_UNKNOWN_ITEM' })
  t.throws(() => feed.played('answer', 1_001), { code: 'VOICE_ERR_BAD_POSITION', message: /only 1000 ms/ })
  feed.played('answer', 450)
  feed.requireAfter(5)
  t.throws(() => feed.requireAfter(4), { code: 'VOICE_ERR_OUTPUT_GONE' })
  feed.played('answer', 1_000)
  feed.requireAfter(10)
})

t.test('audio that is sent again from an earlier place does not shorten the answer', async () => {
  const feed = new OutputFeed()
  feed.connect(new TestConnection(), 0)
  for (const startMs of [0, 100, 200, 50]) void feed.push(audio('answer', startMs, 4_800), FORMAT)
  feed.played('answer', 300)
})

t.test('what was acknowledged is not kept, unless it was not sent yet', async (t) => {
  const feed = new OutputFeed()
  const connection = new TestConnection()
  feed.connect(connection, 0)
  fill(feed, 3)
  feed.disconnect(connection)
  fill(feed, 2)
  feed.acknowledged(2)
  feed.acknowledged(1)
  feed.requireAfter(2)
  t.throws(() => feed.requireAfter(1), { code: 'VOICE_ERR_OUTPUT_GONE' })
  feed.acknowledged(9)
  feed.requireAfter(3)
  const next = new TestConnection()
  feed.connect(next, 3)
  t.same(next.positions, [4, 5])
})

t.test('the end follows the last output, on the connection that has the call then', async (t) => {
  const { feed, connection, sent, drain } = sendTwo()
  feed.end({ status: 'completed' })
  for (const each of sent) await each
  t.equal(connection.end, undefined)
  drain()
  t.same(await connection.over(), { status: 'completed' })
  t.same(connection.positions, [1, 2])
  t.equal(feed.push(text(3), FORMAT), undefined, 'later outputs are discarded')
  t.same(connection.positions, [1, 2])
})
