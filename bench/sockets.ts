import { median } from './load.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { follow, openSockets, type Client } from './sockets/clients.ts'
import { measureIdle } from './sockets/memory.ts'

const SOCKETS = 100
const PROMISED_CPU = 2
/** What is run, so many times by each socket in a round. An agent has a model that costs something, and the bare server none. */
const LOADS: readonly Load[] = [
  { name: 'at-once', runs: 20, what: 'chunks at once', promised: PROMISED_CPU },
  { name: 'paced', runs: 10, what: 'chunks 1 ms apart', promised: PROMISED_CPU },
  { name: 'agent-at-once', runs: 20, what: 'an agent, at once', promised: PROMISED_CPU },
  { name: 'agent-paced', runs: 10, what: 'an agent, 1 ms apart' }
]
const PROMISED_MEMORY = 1.5
const VARIANTS = ['bare', 'gateway'] as const

interface Load {
  name: string
  runs: number
  what: string
  promised?: number
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
  line('heap, after garbage collection', bare.heap, ours.heap, PROMISED_MEMORY)
  line('resident', bare.rss, ours.rss, PROMISED_MEMORY)
}

async function reportLoad(load: Load, sides: readonly Side[], rounds: number): Promise<void> {
  const costs = sides.map((): number[] => [])
  for (const side of sides) await costOf(side, load)
  for (let round = 0; round < rounds; round++)
    for (const [index, side] of sides.entries()) costs[index]!.push(await costOf(side, load))
  const [bare, ours] = costs.map(median)
  line(load.what, bare!, ours!, load.promised)
}

async function costOf({ server, sockets }: Side, { name, runs }: Load): Promise<number> {
  const before = server.cpu()
  await Promise.all(sockets.map((socket) => follow(socket, name, runs)))
  return (server.cpu() - before) / (SOCKETS * runs)
}

function line(what: string, bare: number, ours: number, promised?: number): void {
  const figures = `bare ${bare.toFixed(0).padStart(7)}   gateway ${ours.toFixed(0).padStart(7)}`
  const promise = promised === undefined ? '' : `, promised ≤ ${promised}`
  console.log(`${what.padEnd(36)}${figures}   × ${(ours / bare).toFixed(2)}${promise}`)
}
