import { connect, createServer, type Server, type Socket } from 'node:net'

/** Where a node listens on this machine, and whether it takes requests. */
export interface Target {
  readonly port: number
  readonly isReady: boolean
}

const BUSY = JSON.stringify({
  error: { code: 'DEMO_ERR_NO_NODE', message: 'No node is ready yet', retryable: true }
})
const NO_NODE = [
  'HTTP/1.1 503 Service Unavailable',
  'content-type: application/json; charset=utf-8',
  `content-length: ${Buffer.byteLength(BUSY)}`,
  'retry-after: 1',
  'connection: close',
  '',
  BUSY
].join('\r\n')

/**
 * Shares connections out to the nodes that are ready, one after the other. It knows no protocol: what a connection carries, requests,
 * event streams or a WebSocket, stays on its node, and ends with it.
 */
export function createBalancer(targets: () => readonly Target[]): Server {
  let turn = 0
  return createServer({ allowHalfOpen: true }, (client) => {
    const ready = targets().filter(({ isReady }) => isReady)
    const first = turn++ % Math.max(1, ready.length)
    client.on('error', () => client.destroy())
    connectToOne(client, [...ready.slice(first), ...ready.slice(0, first)])
  })
}

// The next one is tried if the connection is refused: a node may die before its state is known.
function connectToOne(client: Socket, [target, ...others]: readonly Target[]): void {
  if (target === undefined) return void client.end(NO_NODE)
  const node = connect({ port: target.port, host: '127.0.0.1', allowHalfOpen: true })
  const tryNext = () => connectToOne(client, others)
  node.once('error', tryNext)
  node.once('connect', () => {
    node.off('error', tryNext)
    node.on('error', () => client.destroy())
    node.once('close', () => client.destroy())
    client.once('close', () => node.destroy())
    client.pipe(node).pipe(client)
  })
}
