import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A network between a store and its database that breaks on demand. */
export interface Proxy {
  /** The URL of the database by way of the proxy. */
  readonly url: string
  /**
   * Loses what the server answers next, then the connections: the client cannot know what was committed.
   * @param to loses only the answers from the next statement with this text on
   */
  loseAnswers(to?: string): void
  /** Resolves once an answer was lost. */
  lost(): Promise<void>
  /**
   * Keeps back what the server answers on one connection, from its next statement with this text on, until `pass`: the server has done what
   * the client does not know. Other connections work.
   */
  holdAnswers(to: string): void
  /** Resolves once an answer is kept back. */
  held(): Promise<void>
  /** Neither delivers nor refuses anything, as a network that lost its route; `pass` resets what was held. */
  hold(): void
  /** Resets all connections, and new ones at once. */
  cut(): void
  /** Delivers everything, `delay` milliseconds later in each direction. */
  slow(delay: number): void
  /** Works again. */
  pass(): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** What the server has answered, while that is kept back. */
  held: Buffer[] | undefined
}

type Mode = 'pass' | 'hold' | 'cut' | 'lose'

/** Starts a proxy in front of a database. */
export async function startProxy(url: string): Promise<Proxy> {
  const target = new URL(url)
  const { hostname, port } = target
  const pairs = new Set<Pair>()
  let losing = Promise.withResolvers<void>()
  let lostText: string | undefined
  let holding = Promise.withResolvers<void>()
  let heldText: string | undefined
  let mode: Mode = 'pass'
  let delay = 0
  const proxy = createServer((client) => {
    if (mode === 'cut') {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(port), hostname)
    const pair: Pair = { client, server, held: undefined }
    pairs.add(pair)
    const end = () => {
      client.destroy()
      server.destroy()
      pairs.delete(pair)
    }
    for (const socket of [client, server]) socket.on('error', end).on('close', end)
    const requests = new Line(server)
    const answers = new Line(client)
    client.on('data', (bytes) => {
      if (lostText !== undefined && bytes.includes(lostText)) {
        mode = 'lose'
        lostText = undefined
      }
      if (heldText !== undefined && bytes.includes(heldText)) {
        pair.held = []
        heldText = undefined
      }
      if (mode !== 'hold') requests.send(bytes, delay)
    })
    server.on('data', (bytes) => {
      if (pair.held !== undefined) {
        pair.held.push(bytes)
        holding.resolve()
      } else if (mode === 'pass') answers.send(bytes, delay)
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
    loseAnswers(to) {
      losing = Promise.withResolvers()
      lostText = to
      if (to === undefined) mode = 'lose'
    },
    lost: () => losing.promise,
    holdAnswers(to) {
      holding = Promise.withResolvers()
      heldText = to
    },
    held: () => holding.promise,
    hold: () => void (mode = 'hold'),
    cut() {
      mode = 'cut'
      reset()
    },
    slow: (milliseconds) => void (delay = milliseconds),
    pass() {
      if (mode === 'hold') reset()
      mode = 'pass'
      delay = 0
      for (const pair of pairs) {
        for (const bytes of pair.held ?? []) pair.client.write(bytes)
        pair.held = undefined
      }
    },
    async close() {
      reset()
      proxy.close()
      await once(proxy, 'close')
    }
  }
}

/** One direction of a connection: delivers in order, later. */
class Line {
  readonly #to: Socket
  readonly #late: { bytes: Buffer; at: number }[] = []

  constructor(to: Socket) {
    this.#to = to
  }

  send(bytes: Buffer, delay: number): void {
    if (delay === 0 && this.#late.length === 0) return void this.#to.write(bytes)
    this.#late.push({ bytes, at: performance.now() + delay })
    if (this.#late.length === 1) this.#deliverAfter(delay)
  }

  #deliverAfter(delay: number): void {
    setTimeout(() => {
      while (this.#late.length > 0 && this.#late[0]!.at <= performance.now())
        this.#to.write(this.#late.shift()!.bytes)
      if (this.#late.length > 0) this.#deliverAfter(Math.max(1, this.#late[0]!.at - performance.now()))
    }, delay)
  }
}
