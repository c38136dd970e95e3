import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port that is held. */
export interface ClaimedPort {
  port: number
  /** Lets it go, for the app to listen on it. */
  release(): Promise<void>
}

/**
 * Holds a port, 0 for any free one. Who has the port may touch the data: so a second demo finds out before it opens the
 * database of the first.
 * @throws what listening throws, such as EADDRINUSE
 */
export async function claimPort(host: string, port: number): Promise<ClaimedPort> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async release() {
      server.close()
      await once(server, 'close')
    }
  }
}
