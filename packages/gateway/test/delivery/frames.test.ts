import type { Writable } from 'node:stream'
import { PART_SCHEMAS } from '@svc/contract'
import { TextEntry } from '@svc/contract/stores'
import { RUNNABLE_KINDS } from '@svc/registry'
import { Encoder, PacketType } from 'socket.io-parser'
import t from 'tap'
import * as ws from 'ws'
import { encodeFrames, sendsFrames } from '../../src/delivery/frames.ts'
import { ChunkEncoder, hasEvent, projectPart } from '../../src/delivery/project-part.ts'
import { random } from '../helpers/random.ts'

/** What the package exports without types. */
const { Receiver } = ws as unknown as { Receiver: new (options: { isServer: boolean }) => Writable }

/** The messages that a WebSocket client reads. */
async function readFrames(frames: Buffer): Promise<string[]> {
  const receiver = new Receiver({ isServer: false })
  const messages: string[] = []
  receiver.on('message', (data: Buffer, isBinary: boolean) => messages.push(`${isBinary}:${String(data)}`))
  await new Promise<void>((resolve) => receiver.write(frames, () => resolve()))
  return messages
}

t.test('clients read the messages one by one', async (t) => {
  const next = random(1)
  const characters = ['a', '"', 'é', '€', '\u2028', '😀']
  const lengths = [0, 1, 123, 124, 125, 126, 300, 65_533, 65_534, 65_535, 70_000]
  const texts = lengths.flatMap((length) => [
    'x'.repeat(length),
    Array.from(
      { length: Math.min(length, 400) },
      () => characters[Math.floor(next() * characters.length)]
    ).join('')
  ])
  t.strictSame(
    await readFrames(encodeFrames(texts)),
    texts.map((text) => `false:4${text}`)
  )
})

t.test('frames are sent by WebSockets that take them', async (t) => {
  const takes = { name: 'websocket', writable: true, _canSendPreEncodedFrame: () => true }
  t.ok(sendsFrames(takes))
  t.notOk(sendsFrames({ ...takes, name: 'polling' }))
  t.notOk(sendsFrames({ ...takes, _canSendPreEncodedFrame: () => false }), 'it compresses')
  t.notOk(sendsFrames({ name: 'websocket', writable: true }), 'another server of WebSockets')
})

t.test('the event of a plain text is what its projection encodes', async (t) => {
  const encoder = new Encoder()
  for (const kind of RUNNABLE_KINDS)
    for (const runId of ['r-1', 'a "quoted" id'])
      for (const place of [undefined, { sessionId: 's "1"', id: '3.7' }]) {
        const entry = new TextEntry(7, 1_000, 'What does the fox say? é😀')
        const event = projectPart({ kind, runId, parts: false, exposeToolArgs: false }, entry.part)!
        Object.assign(event[1], place)
        const [packet] = encoder.encode({ type: PacketType.EVENT, nsp: '/', data: event })
        const members = place && `,${JSON.stringify(place).slice(1, -1)}`
        t.equal(`2${new ChunkEncoder({ kind, runId }).encode(entry, members)}`, packet)
      }
})

t.test('parts that are not looked at have no event', async (t) => {
  const projection = { kind: 'agent', runId: 'r', parts: false, exposeToolArgs: true } as const
  const types = Object.keys(PART_SCHEMAS)
  const silent = types.filter((type) => !hasEvent(type))
  t.ok(silent.length > 5 && silent.length < types.length)
  for (const type of silent)
    t.equal(projectPart(projection, { type, seq: 1, at: 1 } as never), undefined, type)
})
