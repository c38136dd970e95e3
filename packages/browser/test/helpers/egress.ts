import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import {
  connect,
  createServer,
  type AddressInfo,
  type LookupFunction,
  type Server,
  type Socket
} from 'node:net'
import type { Test } from 'tap'
import type { Refusal } from '../../src/browser.ts'
import { createHostPolicy, type AllowedHosts } from '../../src/egress/allowed-host.ts'
import { openEgressProxy, type EgressProxy } from '../../src/egress/egress-proxy.ts'

/** What a proxy of a test is opened with. */
export interface ProxySetup {
  allow?: AllowedHosts
  privateHosts?: readonly string[]
  maxBytes?: number
  lookup?: LookupFunction
}

/** A proxy of a test, and what it refused. */
export interface TestProxy extends EgressProxy {
  readonly port: number
  readonly blocked: Refusal[]
  /** The header with its credentials, and the end of its line. */
  readonly credentials: string
}

/** Opens a proxy; names resolve to 127.0.0.1. */
export async function openProxy(t: Test, setup: ProxySetup = {}): Promise<TestProxy> {
  const blocked: Refusal[] = []
  const {
    allow = ['shop.example'],
    privateHosts,
    maxBytes = 10_000_000,
    lookup = resolver('127.0.0.1')
  } = setup
  const proxy = await openEgressProxy({
    hosts: createHostPolicy(allow, privateHosts),
    maxBytes,
    lookup,
    onBlocked: (refusal) => blocked.push(refusal)
  })
  t.teardown(() => proxy.close())
  const { username, password, server } = proxy.settings
  const token = Buffer.from(`${username}:${password}`).toString('base64')
  const credentials = `Proxy-Authorization: Basic ${token}\r\n`
  return Object.assign(Object.create(proxy) as EgressProxy, {
    port: Number(new URL(server).port),
    blocked,
    credentials
  })
}

/** A resolver whose answers follow each other; the last one stays. */
export function resolver(
  ...answers: (string | readonly string[])[]
): LookupFunction & { readonly names: string[] } {
  const names: string[] = []
  const resolve: LookupFunction = (name, options, done) => {
    const answer = answers[Math.min(names.length, answers.length - 1)] ?? []
    names.push(name)
    const found: LookupAddress[] = [answer]
      .flat()
      .map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    // A resolver answers later.
    setImmediate(() => (options.all ? done(null, found) : done(null, found[0]!.address, found[0]!.family)))
  }
  return Object.assign(resolve, { names })
}

/** A TCP server that answers each connection as given, and keeps what it received. */
export async function serveRaw(
  t: Test,
  answer: (socket: Socket, received: string) => void = () => {}
): Promise<{ port: number; received: string[]; sockets: Set<Socket>; server: Server }> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const index = received.push('') - 1
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1')
      answer(socket, received[index]!)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, received, sockets, server }
}

/** Connects to a port. */
export async function dial(t: Test, port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Sends a text to a port, and reads until it has what is waited for, or until the end. */
export async function talk(t: Test, port: number, text: string, until?: string | RegExp): Promise<string> {
  const socket = await dial(t, port)
  socket.write(text, 'latin1')
  const answer = await readUntil(socket, until)
  socket.destroy()
  return answer
}

/** Reads until it has what is waited for, or until the end. */
export async function readUntil(socket: Socket, until?: string | RegExp): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const isFound = () => (typeof until === 'string' ? text.includes(until) : until?.test(text) === true)
  const read = (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (isFound()) resolve(text)
  }
  socket
    .on('data', read)
    .once('close', () => resolve(text))
    .once('end', () => resolve(text))
  const answer = await promise
  socket.off('data', read)
  return answer
}
