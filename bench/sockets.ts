import { median, printBeside } from './figures.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { follow, openSockets, type Client } from './sockets/clients.ts'

const SOCKETS = 50
/** What is run, so many times by each socket in a round. An agent has a model that costs something, and the bare server none. */
const LOADS: readonly Load[] = [
  { name: 'at-once', runs: 20, what: 'chunks at once', target: 0.9 },
  { name: 'paced', runs: 10, what: 'chunks 1 ms apart', target: 2 },
  { name: 'agent-at-once', runs: 20, what: 'an agent, at once', target: 0.9 },
  { name: 'agent-paced', runs: 10, what: 'an agent, 1 ms apart' }
]
const VARIANTS = ['bare', 'gateway'] as const

interface Load {
  name: string
  runs: number
  what: string
  target?: number
}

interface Side {
  server: ServerProcess
  sockets: Client[]
}

/** Shows what the gateway costs above a bare Socket.IO server that sends the same events. */
export async function report(rounds: number): Promise<void> {
  console.log(`\nSocket.IO: CPU in µs a run of 20 chunks and done, ${SOCKETS} sockets, median of ${rounds}\n`)
  const sides: Side[] = []
  try {
    for (const variant of VARIANTS) {
      const server = await startServer(variant, 'sockets/serve.ts')
      sides.push({ server, sockets: await openSockets(server.url, SOCKETS) })
    }
    for (const load of LOADS) await reportLoad(load, sides, rounds)
  } finally {
    for (const { server, sockets } of sides) {
      for (const socket of sockets) socket.disconnect()
      await server.stop()
    }
  }
}

async function reportLoad(load: Load, sides: readonly Side[], rounds: number): Promise<void> {
  const costs = sides.map((): number[] => [])
  for (const side of sides) await costOf(side, load)
  for (let round = 0; round < rounds; round++)
    for (const [index, side] of sides.entries()) costs[index]!.push(await costOf(side, load))
  const [bare, ours] = costs.map(median)
  printBeside(load.what, bare!, ours!, { times: load.target })
}

async function costOf({ server, sockets }: Side, { name, runs }: Load): Promise<number> {
  const before = server.cpu()
  await Promise.all(sockets.map((socket) => follow(socket, name, runs)))
  return (server.cpu() - before) / (SOCKETS * runs)
}
