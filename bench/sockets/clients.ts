import type { ClientToServerEvents, ServerToClientEvents } from '@svc/gateway'
import { io, type Socket } from 'socket.io-client'
import { ANSWER } from '../quick.ts'
import { signToken } from '../variants.ts'

export type Client = Socket<ServerToClientEvents, ClientToServerEvents>

/** How many are opened at once. */
const AT_ONCE = 100

/** Opens so many sockets, each with a connection of its own and a token. @throws when one is refused */
export async function openSockets(url: string, count: number): Promise<Client[]> {
  const token = signToken()
  const sockets: Client[] = []
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () => open(url, token))
    sockets.push(...(await Promise.all(some)))
  }
  return sockets
}

function open(url: string, token: string): Promise<Client> {
  const options = { auth: { token }, transports: ['websocket'], forceNew: true, reconnection: false }
  const socket: Client = io(url, options)
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('connect_error', reject)
  })
}

/** Starts so many runs on a socket, one after the other. @throws when one does not say everything */
export async function follow(socket: Client, name: string, runs: number): Promise<void> {
  let text = ''
  let end: (text: string) => void
  const takeChunk = ({ chunk }: { chunk: string }) => void (text += chunk)
  const takeEnd = ({ output }: { output: { text: string } }) => end(output.text)
  socket.on('agent.chunk', takeChunk)
  socket.on('agent.done', takeEnd)
  for (let run = 0; run < runs; run++) {
    text = ''
    const ended = new Promise<string>((resolve) => (end = resolve))
    const answer = await socket.emitWithAck('agent.run', { name, input: 'What does the fox do?' })
    if ('error' in answer) throw new Error(answer.error)
    const said = await ended
    if (text !== ANSWER || said !== text) throw new Error(`a socket received: ${text}`)
  }
  socket.off('agent.chunk', takeChunk)
  socket.off('agent.done', takeEnd)
}
