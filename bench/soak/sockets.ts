import { setTimeout as wait } from 'node:timers/promises'
import { startServer, type ServerProcess } from '../server-process.ts'
import type { Finding } from './finding.ts'
import { OPCODE, RawSocket } from './raw-socket.ts'

const MEGABYTE = 1_000_000
/** A little less than a message may have. */
const PIECE = Buffer.alloc(990_000, 'x')
const NAMESPACES = 2_000
/** What a server answers a connection at most: the packets that are taken, the handshake and the error. */
const ANSWERS = 52
/** Milliseconds after which a server has broken off whom it refused. */
const BROKEN_OFF = 2_000

const PINGS = 'pings whose answers are not read'

/** What one client does to cost the server memory before it has shown a token; what it keeps open. */
const ATTACKS: Readonly<Record<string, (url: string) => Promise<RawSocket>>> = {
  attachments: async (url) => {
    const socket = await RawSocket.open(url)
    await socket.send(OPCODE.text, '4510-["agent.run"]')
    for (let sent = 0; sent < 9; sent++) await socket.send(OPCODE.binary, PIECE)
    return socket
  },
  'unfinished messages': (url) => leaveUnfinished(url, 'transport=websocket'),
  'unfinished messages on a WebSocket that asked to poll': (url) => leaveUnfinished(url, 'transport=polling'),
  'unfinished messages before an upgrade': async (url) =>
    leaveUnfinished(url, `transport=websocket&sid=${await openPolling(url)}`),
  [PINGS]: async (url) => {
    const socket = await RawSocket.open(url)
    socket.tcp.pause()
    const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 100, 0, 0, 0, 0]), Buffer.alloc(100)])
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping))
    for (let sent = 0; sent < 10; sent++) await socket.write(pings)
    return socket
  }
}

/** What a server has in memory, in bytes. */
interface Memory {
  /** Objects and buffers, after garbage collection. */
  held: number
  resident: number
}

/** What so many clients without a token cost a server over what it has when idle. @param attack one of ATTACKS */
export async function attackSockets(count: number, attack: string): Promise<Memory> {
  const begin = ATTACKS[attack]!
  const server = await startServer('', 'soak/socket-server.ts')
  try {
    // What the first sockets bring with them, such as compiled code, is of no attack.
    closeAll(await inParallel(count, () => RawSocket.open(server.url)))
    closeAll(await inParallel(10, () => begin(server.url)))
    await wait(BROKEN_OFF)
    const idle = await memoryOf(server)
    const sockets = await inParallel(count, () => begin(server.url))
    const { held, resident } = await memoryOf(server)
    closeAll(sockets)
    return { held: held - idle.held, resident: resident - idle.resident }
  } finally {
    await server.stop()
  }
}

/** What came of clients that enter namespaces that are not there, 2,000 each: the most answers of one, and how many are left. */
export async function floodNamespaces(count: number): Promise<{ answers: number; left: number }> {
  const server = await startServer('', 'soak/socket-server.ts')
  try {
    const sockets = await inParallel(count, async () => {
      const socket = await RawSocket.open(server.url)
      for (let index = 0; index < NAMESPACES; index++) await socket.send(OPCODE.text, `40/${index},`)
      return socket
    })
    await wait(BROKEN_OFF)
    const answers = Math.max(...sockets.map(({ received }) => received.split('44/').length - 1))
    const left = sockets.filter(({ tcp }) => !tcp.destroyed).length
    return { answers, left }
  } finally {
    await server.stop()
  }
}

/** The same as findings. */
export async function soakSockets(count: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const attack of Object.keys(ATTACKS)) {
    const { held, resident } = await attackSockets(count, attack)
    const what = `for ${count} sockets with ${attack}`
    findings.push({ what: `held ${what}`, value: held / MEGABYTE, limit: 20, unit: 'MB' })
    // Pings are many small objects for a moment: what V8 has ready for the next ones is not theirs.
    const limit = attack === PINGS ? 40 : 20
    findings.push({ what: `resident ${what}`, value: resident / MEGABYTE, limit, unit: 'MB' })
  }
  const { answers, left } = await floodNamespaces(count)
  const flood = `${count} sockets × ${NAMESPACES} namespaces`
  findings.push({ what: `most answers to one of ${flood}`, value: answers, limit: ANSWERS, unit: '' })
  findings.push({ what: `left of ${flood}`, value: left, limit: 0, unit: '' })
  return findings
}

async function leaveUnfinished(url: string, query: string): Promise<RawSocket> {
  const socket = await RawSocket.open(url, query)
  await socket.send(OPCODE.text, PIECE, PIECE.length - 1)
  return socket
}

async function openPolling(url: string): Promise<string> {
  const opened = await (await fetch(`${url}/socket.io/?EIO=4&transport=polling`)).text()
  return (JSON.parse(opened.slice(1)) as { sid: string }).sid
}

async function memoryOf({ url }: ServerProcess): Promise<Memory> {
  return (await (await fetch(`${url}/memory`)).json()) as Memory
}

function inParallel<T>(count: number, act: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, act))
}

function closeAll(sockets: readonly RawSocket[]): void {
  for (const { tcp } of sockets) tcp.destroy()
}
