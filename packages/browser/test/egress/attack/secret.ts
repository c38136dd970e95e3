import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import type { Channel, Target } from './channel.ts'

/** Servers on loopback that nothing may reach, and what reached them. */
export interface Secret {
  /** Names of the channels that reached them. */
  readonly reached: ReadonlySet<string>
  /** Connections and packets, whatever their channel. */
  readonly counts: { readonly connections: number; readonly requests: number; readonly packets: number }
  target(channel: Channel, site: string): Target
  /** Resolves when something is reached. */
  next(): Promise<void>
  close(): Promise<void>
}

/** Its names look public, and lead to the secret servers. */
export const DOMAIN = 'rebind.example'

const LOOPBACKS = ['127.0.0.1', '127.0.0.2', '::1']

/** Opens the servers: HTTP on one port of three loopback addresses, and a socket for each channel that needs its own. */
export async function openSecret(channels: readonly Channel[]): Promise<Secret> {
  const reached = new Set<string>()
  const counts = { connections: 0, requests: 0, packets: 0 }
  const ports = new Map<string, number>()
  const servers: Server[] = []
  const sockets: UdpSocket[] = []
  let wake = Promise.withResolvers<void>()

  function note(name: string): void {
    reached.add(name)
    wake.resolve()
    wake = Promise.withResolvers()
  }

  async function listen(server: Server, port: number, host: string): Promise<number> {
    server.on('connection', () => counts.connections++)
    server.listen(port, host)
    await once(server, 'listening')
    servers.push(server)
    return (server.address() as AddressInfo).port
  }

  function openHttp() {
    return createHttpServer((request, reply) => {
      counts.requests++
      const name = /^\/r\/([\w-]+)/.exec(request.url ?? '')?.[1]
      if (name !== undefined) note(name)
      reply.setHeader('access-control-allow-origin', '*').end('<title>SECRET</title>SECRET')
    })
  }

  async function openUdp(name: string, port: number, host: string): Promise<number> {
    const socket = createSocket('udp4')
    socket.on('message', () => (counts.packets++, note(name)))
    socket.bind(port, host)
    await once(socket, 'listening')
    sockets.push(socket)
    return socket.address().port
  }

  let port = 0
  for (const host of LOOPBACKS)
    // Machines without IPv6 have no ::1.
    port = await listen(openHttp(), port, host).catch(() => port)
  for (const { name, via } of channels) {
    if (via === 'tcp') {
      const server = createServer((socket) => {
        note(name)
        socket.on('error', () => {}).destroy()
      })
      ports.set(name, await listen(server, 0, '127.0.0.1'))
    } else if (via === 'udp') {
      const own = await openUdp(name, 0, '127.0.0.1')
      await openUdp(name, own, '127.0.0.2')
      ports.set(name, own)
    }
  }
  return {
    reached,
    counts,
    target({ name, address }, site) {
      const host = address ?? `${name}.${DOMAIN}`
      const own = ports.get(name) ?? port
      return { url: `http://${host}:${own}/r/${name}`, host, port: own, site }
    },
    next: () => wake.promise,
    async close() {
      for (const socket of sockets) socket.close()
      await Promise.all(
        servers.map(async (server) => {
          ;(server as Partial<ReturnType<typeof openHttp>>).closeAllConnections?.()
          const closed = once(server, 'close')
          server.close()
          await closed
        })
      )
    }
  }
}
