import { io } from 'socket.io-client'
import type { Random } from '../random.ts'
import { Fatal, type Persistent } from '../agents/service.ts'

/** How a run is followed. */
interface FollowOptions {
  random: Random
  /** Gets what a socket says of each part, in the form of `toSocketForm`. */
  onPart: (form: string) => void
  /** Milliseconds without an event after which a connection counts as broken. */
  patience: number
}

// Milliseconds in which a service that says goodbye may say it again.
const FAREWELL = 50

/** What a socket shows of a part of a log: its number, and its text. */
export function toSocketForm(json: string): string {
  const { seq, type, text } = JSON.parse(json) as { seq: number; type: string; text?: string }
  return type === 'text' ? `${seq} ${text}` : String(seq)
}

/**
 * Reads a run to its end, as one client that watches it again after the last number whenever its socket breaks. Some sockets it
 * breaks itself.
 */
export async function followBySocket(
  service: Persistent,
  runId: string,
  { random, onPart, patience }: FollowOptions
): Promise<void> {
  let after = 0
  let isOver = false
  while (!isOver) {
    let left = random.chance(0.3) ? 1 + random.below(40) : Infinity
    await service.persist(async (url) => {
      const socket = io(url, { transports: ['websocket'], forceNew: true, reconnection: false })
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error('silent')), patience)
      let farewells = 0
      socket.on('connect_error', reject).on('disconnect', (reason) => reject(new Error(reason)))
      socket.onAny((event: string, payload: Payload) => {
        timer.refresh()
        if (payload.runId !== runId || payload.seq === undefined) return
        if (event === 'run.suspended') {
          if (++farewells > 1) reject(new Fatal(`run ${runId}: suspended twice at ${payload.seq}`))
          else setTimeout(reject, FAREWELL, new Error('suspended'))
          return
        }
        const { seq, chunk } = payload
        if (seq <= after) return reject(new Fatal(`run ${runId}: ${event} has ${seq} after ${after}`))
        after = seq
        onPart(chunk === undefined ? String(seq) : `${seq} ${chunk}`)
        isOver = /^\w+\.(?:done|error)$/.test(event)
        if (isOver || --left === 0) resolve()
      })
      try {
        const payload = { runId, parts: true, ...(after > 0 && { after }) }
        const watched = socket
          .emitWithAck('run.watch', payload)
          .then((answer) => requireWatched(runId, answer))
        await Promise.race([watched, promise])
        await promise
      } finally {
        clearTimeout(timer)
        socket.disconnect()
      }
    })
  }
}

interface Payload {
  readonly runId?: string
  readonly seq?: number
  readonly chunk?: string
}

function requireWatched(runId: string, { code, error }: { code?: string; error?: string }): void {
  if (code === 'RUN_ERR_NOT_FOUND') throw new Fatal(`run ${runId} is lost`)
  if (code !== undefined) throw new Error(`${code}: ${error}`)
}
