import { once } from 'node:events'
import { WebSocket } from 'ws'
import { median, printBeside } from './figures.ts'
import { CHUNKS } from './quick.ts'
import { startServer, type ServerProcess } from './server-process.ts'

const CONNECTIONS = 50
// Responses of each connection in a round.
const RESPONSES = 20
const TARGET = 1
const BODY = { model: 'quick', input: 'What does the fox do?' }
const END = '"type":"response.completed"'

/** A client that asks for one response after another. */
interface Client {
  ask(): Promise<void>
  close(): void
}

/** Shows what a response over a WebSocket costs beside one whose events are streamed over HTTP. */
export async function report(rounds: number): Promise<void> {
  console.log(
    `\na response of ${CHUNKS.length} deltas over a WebSocket, beside its stream over HTTP: CPU in µs, ${CONNECTIONS} connections, median of ${rounds}\n`
  )
  const servers: ServerProcess[] = []
  try {
    for (let n = 0; n < 2; n++) servers.push(await startServer('responses'))
    const [http, socket] = servers as [ServerProcess, ServerProcess]
    const costs: [number, number][] = []
    // The first round warms up.
    for (let round = 0; round <= rounds; round++)
      costs.push([await costOf(http, streamOf), await costOf(socket, openSocket)])
    const measured = costs.slice(1)
    const bare = median(measured.map(([each]) => each))
    // Of each round, since the speed of the machine changes between them.
    const times = median(measured.map(([one, other]) => other / one))
    printBeside('over a WebSocket', bare, bare * times, { times: TARGET })
  } finally {
    for (const server of servers) await server.stop()
  }
}

async function costOf(server: ServerProcess, open: (url: string) => Promise<Client>): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(server.url)))
  const before = server.cpu()
  await Promise.all(
    clients.map(async (client) => {
      for (let n = 0; n < RESPONSES; n++) await client.ask()
    })
  )
  const cost = (server.cpu() - before) / (CONNECTIONS * RESPONSES)
  for (const client of clients) client.close()
  return cost
}

async function streamOf(url: string): Promise<Client> {
  return {
    async ask() {
      const reply = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...BODY, stream: true })
      })
      requireAnswer(await reply.text())
    },
    close() {}
  }
}

async function openSocket(url: string): Promise<Client> {
  const ws = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`)
  await once(ws, 'open')
  const create = JSON.stringify({ type: 'response.create', ...BODY })
  return {
    async ask() {
      let text = ''
      const ended = Promise.withResolvers<void>()
      const take = (frame: Buffer) => {
        const event = String(frame)
        text += event
        if (event.includes(END) || event.includes('"type":"error"')) ended.resolve()
      }
      ws.on('message', take)
      ws.send(create)
      await ended.promise
      ws.off('message', take)
      requireAnswer(text)
    },
    close: () => ws.close()
  }
}

function requireAnswer(text: string): void {
  if (!text.includes(END) || !CHUNKS.every((chunk) => text.includes(chunk)))
    throw new Error(`a response said: ${text}`)
}
