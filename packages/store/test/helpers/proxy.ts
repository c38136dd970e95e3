import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A network between a store and its database that breaks on demand. */
export interface Proxy {
  /** The URL of the database by way of the proxy. */
  readonly url: string
  /** Loses what the server answers next, then the connections: the client cannot know what was committed. */
  loseAnswers(): void
  /** Resolves once an answer was lost. */
  lost(): Promise<void>
  /** Neither delivers nor refuses anything, as a network that lost its route; `pass` resets what was held. */
  hold(): void
  /** Works again. */
  pass(): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

/** Starts a proxy in front of a database. */
export async function startProxy(url: string): Promise<Proxy> {
  const target = new URL(url)
  const { hostname, port } = target
  const pairs = new Set<Pair>()
  let losing = Promise.withResolvers<void>()
  let mode: 'pass' | 'hold' | 'lose' = 'pass'
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname)
    const pair = { client, server }
    pairs.add(pair)
    const end = () => {
      client.destroy()
      server.destroy()
      pairs.delete(pair)
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    client.on('data', (bytes) => {
      if (mode !== 'hold') server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (mode === 'pass') client.write(bytes)
      else if (mode === 'lose') {
        end()
        losing.resolve()
      }
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  target.port = String((proxy.address() as AddressInfo).port)
  const reset = () => {
    for (const { client } of pairs) client.destroy()
  }
  return {
    url: target.href,
    loseAnswers() {
      losing = Promise.withResolvers()
      mode = 'lose'
    },
    lost: () => losing.promise,
    hold: () => void (mode = 'hold'),
    pass() {
      if (mode === 'hold') reset()
      mode = 'pass'
    },
    async close() {
      reset()
      proxy.close()
      await once(proxy, 'close')
    }
  }
}
