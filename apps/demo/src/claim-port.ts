import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Holds a port until the function that it gives is called. Who has the port may touch the data: so a second demo finds out
 * before it opens the database of the first.
 * @throws what listening throws, such as EADDRINUSE
 */
export async function claimPort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port })
  await once(server, 'listening')
  return async () => {
    server.close()
    await once(server, 'close')
  }
}
