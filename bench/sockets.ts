import { median } from './load.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { follow, openSockets, type Client } from './sockets/clients.ts'
import { measureIdle } from './sockets/memory.ts'

const SOCKETS = 100
/** Runs of each socket in a round, by how the chunks come: all at once, or 1 ms apart. */
const LOADS = { burst: 20, paced: 10 } as const
const PROMISED_CPU = 2
const PROMISED_MEMORY = 1.5
const VARIANTS = ['bare', 'gateway'] as const

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
    for (const load of Object.keys(LOADS) as (keyof typeof LOADS)[]) await reportLoad(load, sides, rounds)
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

async function reportLoad(load: keyof typeof LOADS, sides: readonly Side[], rounds: number): Promise<void> {
  const costs = sides.map((): number[] => [])
  for (const side of sides) await costOf(side, load)
  for (let round = 0; round < rounds; round++)
    for (const [index, side] of sides.entries()) costs[index]!.push(await costOf(side, load))
  const [bare, ours] = costs.map(median)
  line(`chunks ${load === 'burst' ? 'at once' : '1 ms apart'}`, bare!, ours!, PROMISED_CPU)
}

async function costOf({ server, sockets }: Side, load: keyof typeof LOADS): Promise<number> {
  const before = server.cpu()
  await Promise.all(sockets.map((socket) => follow(socket, load, LOADS[load])))
  return (server.cpu() - before) / (SOCKETS * LOADS[load])
}

function line(what: string, bare: number, ours: number, promised: number): void {
  const figures = `bare ${bare.toFixed(0).padStart(7)}   gateway ${ours.toFixed(0).padStart(7)}`
  console.log(`${what.padEnd(36)}${figures}   × ${(ours / bare).toFixed(2)}, promised ≤ ${promised}`)
}
