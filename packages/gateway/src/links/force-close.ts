import type { Server, Socket } from 'socket.io'

/** Milliseconds for a client to close; Engine.IO's 30 seconds would delay the exit of the process. */
const CLOSE_TIMEOUT = 1_000

/** Shortens the close timeout of a server's polling connections. */
export function shortenClose(engine: Server['engine']): void {
  engine.on('connection', ({ transport }: { transport: { closeTimeout?: number } }) => {
    if (transport.closeTimeout !== undefined) transport.closeTimeout = CLOSE_TIMEOUT
  })
}

type Link = Pick<Socket['conn'], 'readyState' | 'transport'>

/** Closes a connection at once. A graceful close of a WebSocket waits 30 seconds for its client. */
export function forceClose(link: Link): void {
  if (link.readyState !== 'closed') terminate(link)
}

function terminate({ transport }: Pick<Link, 'transport'>): void {
  ;(transport as { socket?: { terminate?(): void } }).socket?.terminate?.()
}

/** Closes a connection by force unless its client closes it in time. */
export function forceCloseLater(link: Socket['conn']): void {
  const end = () => {
    link.close(true)
    terminate(link)
  }
  setTimeout(end, CLOSE_TIMEOUT).unref()
}

/** Closes all connections of a server at once, and those that come while its HTTP server still listens. */
export function forceCloseAll({ engine }: Server): void {
  engine.on('connection', forceClose)
  const { clients } = engine as unknown as { clients: Record<string, Link> }
  for (const link of Object.values(clients)) forceClose(link)
}
