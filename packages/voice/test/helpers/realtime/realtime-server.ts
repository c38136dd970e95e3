import { once } from 'node:events'
import { setImmediate as tick } from 'node:timers/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAI } from '@ai-sdk/openai'
import { WebSocketServer, type WebSocket } from 'ws'
import { ServedConnection, type Asked, type Reply, type WireEvent } from './served-connection.ts'

/** How a server for OpenAI's Realtime protocol behaves. */
export interface RealtimeServerOptions {
  /** Answers a response that is asked for. */
  readonly reply: (asked: Asked) => Reply
  /** Replaces an event before it is sent, by any number of events or raw frames; `cut` ends the connection instead. */
  readonly tamper?: (
    event: WireEvent,
    connection: ServedConnection
  ) => readonly (WireEvent | string | Buffer)[] | 'cut'
  /** False: an event of the client is ignored; `cut` ends the connection instead. */
  readonly receive?: (event: WireEvent, connection: ServedConnection) => boolean | 'cut'
  /** True: a response begins with each turn, whatever the session says. */
  readonly respondsByItself?: boolean
  /** Status of the handshake of a connection, from 0; default 101. */
  readonly handshake?: (index: number, request: IncomingMessage) => number
}

/** A server that speaks a narrow part of OpenAI's Realtime protocol, with speech of tones, and misbehaves on demand. */
export async function startRealtimeServer(
  t: { teardown(fn: () => unknown): void },
  options: RealtimeServerOptions
) {
  const connections: ServedConnection[] = []
  const sockets: WebSocket[] = []
  let handshakes = 0
  const server = createServer()
  const sockServer = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const status = options.handshake?.(handshakes++, request) ?? 101
    if (status !== 101) {
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    sockServer.handleUpgrade(request, socket, head, (ws) => {
      sockets.push(ws)
      connections.push(new ServedConnection(ws, request, connections.length, options))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const ws of sockets) ws.terminate()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const baseURL = `http://127.0.0.1:${port}/v1`
  return {
    baseURL,
    connections,
    /** Handshakes so far, refused ones included. */
    get handshakes() {
      return handshakes
    },
    /** All events that clients have sent. */
    received: (type: string) =>
      connections.flatMap((each) => each.received.filter((event) => event.type === type)),
    /** Resolves once `count` sessions were set up. */
    async ready(count: number) {
      await until(() => connections.filter(({ session }) => session['type']).length >= count)
      await connections[count - 1]?.settled()
    },
    /** Resolves once clients have sent `count` events of a type. */
    arrived: (type: string, count: number) =>
      until(
        () =>
          connections.flatMap(({ received }) => received).filter((event) => event.type === type).length >=
          count
      ),
    model: createOpenAI({ baseURL, apiKey: KEY }).experimental_realtime('m', { api: 'realtime' })
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await tick()
}

/** The API key of the model. */
const KEY = 'sk-test-4711aB'
