import { median } from '../figures.ts'
import { startServer, type ServerProcess } from '../server-process.ts'
import { openSockets } from './clients.ts'

/** What a server says of its memory, in bytes, after it has collected its garbage. */
export interface Memory {
  rss: number
  heap: number
}

const SOCKETS = 5_000
const ROUNDS = 3

/** Bytes that one idle socket costs a server that has 5,000 of them: the median of 3 new processes. */
export async function measureIdle(variant: string): Promise<Memory> {
  const all: Memory[] = []
  for (let round = 0; round < ROUNDS; round++) all.push(await measureOnce(variant))
  return { rss: median(all.map(({ rss }) => rss)), heap: median(all.map(({ heap }) => heap)) }
}

async function measureOnce(variant: string): Promise<Memory> {
  const server = await startServer(variant, 'sockets/serve.ts')
  try {
    // What the first sockets of a process bring with them, such as compiled code, is of no socket.
    const first = await openSockets(server.url, 100)
    const before = await ask(server)
    const sockets = await openSockets(server.url, SOCKETS)
    const after = await ask(server)
    for (const socket of [...first, ...sockets]) socket.disconnect()
    return { rss: (after.rss - before.rss) / SOCKETS, heap: (after.heap - before.heap) / SOCKETS }
  } finally {
    await server.stop()
  }
}

async function ask({ url }: ServerProcess): Promise<Memory> {
  return (await (await fetch(`${url}/memory`)).json()) as Memory
}
