import type { Server, Socket } from 'socket.io'

/** Milliseconds that a client which polls has to fetch the goodbye; Engine.IO’s 30 seconds keep a process from exiting. */
const GOODBYE = 1_000

/** Bounds how long a connection of a server takes to close. */
export function hastenGoodbyes(engine: Server['engine']): void {
  engine.on('connection', ({ transport }: { transport: { closeTimeout?: number } }) => {
    if (transport.closeTimeout !== undefined) transport.closeTimeout = GOODBYE
  })
}

type Link = Pick<Socket['conn'], 'readyState' | 'transport'>

/** Ends a connection at once: a WebSocket waits half a minute for a client that does not say goodbye. */
export function breakOff(link: Link): void {
  if (link.readyState !== 'closed') terminate(link)
}

function terminate({ transport }: Pick<Link, 'transport'>): void {
  ;(transport as { socket?: { terminate?(): void } }).socket?.terminate?.()
}

/** Breaks a connection off that does not close by itself, since its client reads nothing or does not say goodbye. */
export function breakOffLate(link: Socket['conn']): void {
  const end = () => {
    link.close(true)
    terminate(link)
  }
  setTimeout(end, GOODBYE).unref()
}

/** Ends every connection of a server at once. */
export function breakOffAll({ engine }: Server): void {
  const { clients } = engine as unknown as { clients: Record<string, Link> }
  for (const link of Object.values(clients)) breakOff(link)
}
