import { median, printBeside } from './figures.ts'
import { send, UNIQUE } from './load.ts'
import { memoryOf } from './memory-route.ts'
import { openStream } from './open-stream.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { openSockets } from './sockets/clients.ts'
import { RUN, STREAM } from './variants.ts'

const PROCESSES = 3
const SOCKETS = 10_000
const STREAMS = 1_000
// The store in memory keeps 10,000.
const SESSIONS = 9_000
const SOCKETS_TARGET = 1.4

/** Opens so many of what is measured; resolves with what closes them. */
type Open = (server: ServerProcess, count: number) => Promise<() => unknown>

interface Kept {
  readonly heap: number
  readonly rss: number
}

/** Shows the memory that a server needs for one of many that do nothing, beside a bare server. */
export async function report(): Promise<void> {
  console.log(`\nkB of the server for one of many that are idle, median of ${PROCESSES} processes\n`)
  const socket = (variant: string) => measure(variant, SOCKETS, openIdleSockets, 'sockets/serve.ts')
  print(`one of ${SOCKETS} sockets`, await socket('bare'), await socket('gateway'), SOCKETS_TARGET)
  const bare = await measure('bare-open', STREAMS, openStreams('/stream'))
  print(
    `one of ${STREAMS} open streams`,
    bare,
    await measure('stream-open', STREAMS, openStreams(STREAM.path))
  )
  const session = await measure('sessions', SESSIONS, makeSessions)
  console.log(`one of ${SESSIONS} sessions of a turn: ${(session.heap * 1e3).toFixed(0)} bytes`)
}

/** @param program beside this file */
async function measure(variant: string, count: number, open: Open, program?: string): Promise<Kept> {
  const all: Kept[] = []
  for (let left = PROCESSES; left > 0; left--) {
    const server = await startServer(variant, program)
    try {
      // What the first ones of a process bring with them, such as compiled code, is of none of them.
      const closeFirst = await open(server, 200)
      const before = await memoryOf(server, 'all')
      const close = await open(server, count)
      const after = await memoryOf(server, 'all')
      for (const end of [closeFirst, close]) await end()
      const [heap, rss] = [after.heap - before.heap, after.rss - before.rss].map(
        (bytes) => bytes / count / 1e3
      )
      all.push({ heap: heap!, rss: rss! })
    } finally {
      await server.stop()
    }
  }
  return { heap: median(all.map(({ heap }) => heap)), rss: median(all.map(({ rss }) => rss)) }
}

async function openIdleSockets({ url }: ServerProcess, count: number) {
  const sockets = await openSockets(url, count)
  return () => {
    for (const socket of sockets) socket.disconnect()
  }
}

function openStreams(path: string): Open {
  return async ({ url }, count) => {
    const readers = await Promise.all(
      Array.from({ length: count }, () => openStream(url, { ...STREAM, path }))
    )
    return () => Promise.all(readers.map((reader) => reader.cancel()))
  }
}

async function makeSessions(server: ServerProcess, count: number) {
  await send(server, { ...RUN, body: { ...RUN.body, sessionId: UNIQUE } }, count)
  return () => {}
}

function print(what: string, bare: Kept, ours: Kept, times?: number): void {
  printBeside(`${what}: heap`, bare.heap, ours.heap, { times })
  printBeside(`${what}: resident`, bare.rss, ours.rss, { times })
}
