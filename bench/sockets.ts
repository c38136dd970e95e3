import { median } from './figures.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { follow, openSockets, type Client } from './sockets/clients.ts'
import { measureIdle } from './sockets/memory.ts'

const SOCKETS = 50
/** What is run, so many times by each socket in a round. An agent has a model that costs something, and the bare server none. */
const LOADS: readonly Load[] = [
  { name: 'at-once', runs: 20, what: 'chunks at once', target: 1 },
  { name: 'paced', runs: 10, what: 'chunks 1 ms apart', target: 2 },
  { name: 'agent-at-once', runs: 20, what: 'an agent, at once', target: 1 },
  { name: 'agent-paced', runs: 10, what: 'an agent, 1 ms apart' }
]
const MEMORY_TARGET = 1.5
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
export async function reportSockets(rounds: number): Promise<void> {
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
  console.log('\nSocket.IO: bytes of the server for one of 5,000 idle sockets, median of 3 processes\n')
  const [bare, ours] = [await measureIdle('bare'), await measureIdle('gateway')]
  line('heap, after garbage collection', bare.heap, ours.heap, MEMORY_TARGET)
  line('resident', bare.rss, ours.rss, MEMORY_TARGET)
}

async function reportLoad(load: Load, sides: readonly Side[], rounds: number): Promise<void> {
  const costs = sides.map((): number[] => [])
  for (const side of sides) await costOf(side, load)
  for (let round = 0; round < rounds; round++)
    for (const [index, side] of sides.entries()) costs[index]!.push(await costOf(side, load))
  const [bare, ours] = costs.map(median)
  line(load.what, bare!, ours!, load.target)
}

async function costOf({ server, sockets }: Side, { name, runs }: Load): Promise<number> {
  const before = server.cpu()
  await Promise.all(sockets.map((socket) => follow(socket, name, runs)))
  return (server.cpu() - before) / (SOCKETS * runs)
}

function line(what: string, bare: number, ours: number, target?: number): void {
  const figures = `bare ${bare.toFixed(0).padStart(7)}   gateway ${ours.toFixed(0).padStart(7)}`
  const verdict = target === undefined ? '' : `, target ≤ ${target}${ours / bare > target ? ', over' : ''}`
  console.log(`${what.padEnd(36)}${figures}   × ${(ours / bare).toFixed(2)}${verdict}`)
}
