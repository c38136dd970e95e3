import { EventEmitter } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import type { WebSocket } from 'ws'
import { FrameSocket } from '../../src/sockets/frame-socket.ts'

/** A WebSocket whose client takes a frame when the test says so, and answers no ping by itself. */
class StubWebSocket extends EventEmitter {
  readonly OPEN = 1
  readyState = 1
  pings = 0
  isTerminated = false
  readonly #waiting: [bytes: number, sent: () => void][] = []

  get bufferedAmount(): number {
    return this.#waiting.reduce((sum, [bytes]) => sum + bytes, 0)
  }

  send(text: string, _options: object, sent: () => void): void {
    this.#waiting.push([text.length, sent])
  }

  take(): void {
    this.#waiting.shift()?.[1]()
  }

  ping(): void {
    this.pings++
  }

  terminate(): void {
    this.isTerminated = true
    this.readyState = 3
    this.emit('close')
  }
}

function open() {
  const ws = new StubWebSocket()
  return { ws, socket: new FrameSocket(ws as unknown as WebSocket, 10_000) }
}

mock.timers.enable({ apis: ['setInterval'] })
t.teardown(() => mock.timers.reset())

t.test('a client that answers no ping is gone', async (t) => {
  const { ws, socket } = open()
  mock.timers.tick(10_000)
  t.equal(ws.pings, 1)
  ws.emit('pong')
  mock.timers.tick(10_000)
  t.equal(ws.pings, 2)
  socket.send('what it does not take')
  mock.timers.tick(10_000)
  t.ok(ws.isTerminated)
})

t.test('a client that is slow, but takes what waits before the ping, stays', async (t) => {
  const { ws, socket } = open()
  for (let sent = 0; sent < 5; sent++) socket.send('x'.repeat(400_000))
  let isWritable = false
  void Promise.resolve(socket.untilWritable()).then(() => (isWritable = true))
  for (let taken = 0; taken < 3; taken++) {
    mock.timers.tick(10_000)
    t.notOk(ws.isTerminated)
    ws.take()
  }
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(isWritable, 'and takes more')
  mock.timers.tick(10_000)
  mock.timers.tick(10_000)
  t.ok(ws.isTerminated, 'until it takes nothing')
})
