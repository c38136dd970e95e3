import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { ServerProcess } from '../server-process.ts'

/** What a server says of itself since it was last asked. */
export interface Pulse {
  /** The longest stop of its event loop, in milliseconds. */
  stop: number
  /** The most CPU time that one turn of its event loop had, in milliseconds: what else runs on the machine does not count. */
  turn: number
  /** The bytes that are resident after a collection. */
  rss: number
}

/** Adds `GET /pulse` to an app. */
export function addPulse(app: FastifyInstance): void {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let used = threadTime()
  let longest = 0
  setInterval(() => {
    const before = used
    used = threadTime()
    longest = Math.max(longest, used - before)
  }, 1)
  app.get('/pulse', async (): Promise<Pulse> => {
    const found = { stop: delay.max / 1e6, turn: longest }
    globalThis.gc?.()
    // The collection is behind us when this comes.
    await setTimeout(100)
    delay.reset()
    longest = 0
    return { ...found, rss: process.memoryUsage.rss() }
  })
}

/** Asks a server for its pulse. */
export async function pulseOf({ url }: ServerProcess): Promise<Pulse> {
  return (await (await fetch(`${url}/pulse`)).json()) as Pulse
}

// Milliseconds of CPU time of the thread.
function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1e3
}
