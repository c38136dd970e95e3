import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Holds a port until the returned function is called, so that a second demo fails before it opens the database of the first.
 * @throws the error of listening, such as EADDRINUSE
 */
export async function claimPort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port })
  await once(server, 'listening')
  return async () => {
    server.close()
    await once(server, 'close')
  }
}
