import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port that no other process can take. */
export interface ClaimedPort {
  port: number
  release(): Promise<void>
}

/**
 * Holds a port until it is released, so that a second demo fails before it opens the database of the first. With 0 it holds a
 * free one: agents that browse the demo need its address before it listens.
 * @throws the error of listening, such as EADDRINUSE
 */
export async function claimPort(host: string, wanted: number): Promise<ClaimedPort> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port: wanted })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    async release() {
      server.close()
      await once(server, 'close')
    }
  }
}
