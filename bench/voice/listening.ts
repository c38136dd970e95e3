import { setTimeout as wait } from 'node:timers/promises'
import { startServer, type ServerProcess } from '../server-process.ts'

/** What the server says of itself, in bytes and milliseconds. */
export interface ServerState {
  rss: number
  /** The longest time that its event loop was busy since the last question. */
  longestDelay: number
  runs: number
}

/** What listening costs. */
export interface Listening {
  /** CPU milliseconds of the server for one second of one call. */
  cpuPerSecond: number
  /** Bytes of one call. */
  rssPerCall: number
  /** Milliseconds that the event loop was busy at the most: so late is a frame. */
  longestDelay: number
  /** The same of a process without calls, meanwhile. */
  idleDelay: number
}

/** Hz of the protocol. */
const RATE = 24_000
/** Milliseconds of a frame, as in browsers. */
const FRAME = 40

/** What a server spends on calls with background noise only. */
export async function measureListening(calls: number, seconds: number): Promise<Listening> {
  const server = await startServer('phone', 'voice/serve.ts')
  const idle = await startServer('idle', 'voice/serve.ts')
  try {
    const first = await Promise.all(Array.from({ length: 4 }, () => open(server)))
    await listen(first, 2)
    const before = await stateOf(server)
    const sockets = await Promise.all(Array.from({ length: calls }, () => open(server)))
    await listen(sockets, 2)
    await Promise.all([stateOf(server), stateOf(idle)])
    const cpu = server.cpu()
    await listen(sockets, seconds)
    const used = server.cpu() - cpu
    const after = await stateOf(server)
    const { longestDelay: idleDelay } = await stateOf(idle)
    if (after.runs !== calls + first.length) throw new Error(`${after.runs} calls are in progress`)
    for (const socket of [...sockets, ...first]) socket.close()
    return {
      cpuPerSecond: used / 1_000 / calls / seconds,
      rssPerCall: (after.rss - before.rss) / calls,
      longestDelay: after.longestDelay,
      idleDelay
    }
  } finally {
    await Promise.all([server.stop(), idle.stop()])
  }
}

async function open({ url }: ServerProcess): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=phone`, ['realtime'])
  await new Promise((resolve, reject) => {
    socket.addEventListener('message', resolve, { once: true })
    socket.addEventListener('close', () => reject(new Error('the server closed the socket')), { once: true })
  })
  socket.send(JSON.stringify({ type: 'session.update', session: { type: 'realtime' } }))
  return socket
}

// The frames of all calls are spread over the time of a frame.
async function listen(sockets: readonly WebSocket[], seconds: number): Promise<void> {
  const noise = Int16Array.from({ length: (RATE * FRAME) / 1_000 }, () => (Math.random() - 0.5) * 60)
  const event = JSON.stringify({
    type: 'input_audio_buffer.append',
    audio: Buffer.from(noise.buffer).toString('base64')
  })
  const startedAt = performance.now()
  for (let frame = 0; frame < (seconds * 1_000) / FRAME; frame++)
    for (let slice = 0; slice < 4; slice++) {
      for (let index = slice; index < sockets.length; index += 4) sockets[index]!.send(event)
      await wait(Math.max(0, startedAt + (frame + (slice + 1) / 4) * FRAME - performance.now()))
    }
}

async function stateOf({ url }: ServerProcess): Promise<ServerState> {
  return (await (await fetch(`${url}/state`)).json()) as ServerState
}
