import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Audit } from './audit.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { Cluster } from './cluster.ts'
import type { Broken } from './silences.ts'

/** When what goes wrong, in milliseconds: each a shortest and a longest time. What has none does not go wrong. */
export interface FaultTimes {
  readonly kill?: Range
  /** A node ends by SIGTERM, and begins again. */
  readonly restart?: Range
  readonly stop?: Range
  /** How long a node is stopped, and a network is broken; longer than the lease. Default: no time. */
  readonly away?: Range
  readonly network?: Range
  readonly crash?: Range
  /** How long the database is down after every second crash; after the others it is back at once. Default: no time. */
  readonly down?: Range
  readonly disconnect?: Range
  /** Parts that readers receive between two faults at least: on a busy machine faults wait for the service. */
  readonly progress: number
}
type Range = readonly [shortest: number, longest: number]

const LOOK = 50
// Milliseconds by which a slow network delays each message.
const DELAY = 100
const NETWORK_FAULTS = ['hold', 'cut', 'slow'] as const

/** Breaks nodes, their networks and the database of a cluster at random, until it is stopped. */
export class Faults {
  readonly #cluster: Cluster
  readonly #audit: Audit
  readonly #random: Random
  readonly #times: FaultTimes
  readonly #progress: () => number
  #due = 0
  readonly #stopping = new AbortController()
  readonly #busy = new Set<ClusterNode>()
  readonly #work: Promise<void>[]
  /** When something was broken. */
  readonly broken: Broken[] = []
  /** How often what went wrong. */
  readonly counts = {
    kills: 0,
    restarts: 0,
    stops: 0,
    hold: 0,
    cut: 0,
    slow: 0,
    crashes: 0,
    outages: 0,
    disconnections: 0
  }

  /** @param progress how many parts readers have received */
  constructor(cluster: Cluster, audit: Audit, random: Random, times: FaultTimes, progress: () => number) {
    this.#cluster = cluster
    this.#audit = audit
    this.#random = random
    this.#times = times
    this.#progress = progress
    const { kill, restart, stop, network, crash, disconnect } = times
    const faults = [
      [kill, () => this.#kill()],
      [restart, () => this.#restart()],
      [stop, () => this.#stop()],
      [network, () => this.#breakNetwork()],
      [crash, () => this.#crash()],
      [disconnect, () => this.#disconnect()]
    ] as const
    this.#work = faults.flatMap(([every, act]) => (every === undefined ? [] : [this.#repeat(every, act)]))
  }

  /** Stops, and repairs everything. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#work)
  }

  async #repeat(every: Range, act: () => Promise<void>): Promise<void> {
    while ((await this.#wait(every)) && (await this.#progressed())) {
      const from = Date.now()
      await act()
      this.broken.push({ from, to: Date.now() })
    }
  }

  // False if everything is to stop.
  async #progressed(): Promise<boolean> {
    while (this.#progress() < this.#due && !this.#stopping.signal.aborted) await pause(LOOK)
    this.#due = this.#progress() + this.#times.progress
    return !this.#stopping.signal.aborted
  }

  async #kill(): Promise<void> {
    await this.#onNode(async (node) => {
      this.counts.kills++
      await node.kill()
      // A process that ends at its start is a crash of it.
      await node.start().catch(() => {})
    })
  }

  async #restart(): Promise<void> {
    await this.#onNode(async (node) => {
      this.counts.restarts++
      await node.terminate()
      await node.start().catch(() => {})
    })
  }

  async #stop(): Promise<void> {
    await this.#onNode(async (node) => {
      this.counts.stops++
      node.pause()
      await this.#wait(this.#times.away)
      node.resume()
    })
  }

  async #breakNetwork(): Promise<void> {
    await this.#onNode(async (node) => {
      const fault = this.#random.pick(NETWORK_FAULTS)
      this.counts[fault]++
      if (fault === 'slow') node.network.slow(DELAY)
      else node.disconnect(fault)
      await this.#wait(this.#times.away)
      node.connect()
    })
  }

  async #crash(): Promise<void> {
    if (this.counts.crashes++ % 2 === 0) return await this.#cluster.crashDatabase()
    this.counts.outages++
    await this.#cluster.crashDatabase(() => this.#wait(this.#times.down))
  }

  // The database may be crashing.
  async #disconnect(): Promise<void> {
    this.counts.disconnections++
    const { cuts } = this.#cluster
    cuts.record('connections', false)
    await this.#audit.disconnectHalf().catch(() => {})
    cuts.record('connections', true)
  }

  // A node that nothing else is done to; none if there is none.
  async #onNode(act: (node: ClusterNode) => Promise<void>): Promise<void> {
    const free = this.#cluster.nodes.filter((node) => !this.#busy.has(node))
    if (free.length === 0) return
    const node = this.#random.pick(free)
    this.#busy.add(node)
    try {
      await act(node)
    } finally {
      this.#busy.delete(node)
    }
  }

  // False if everything is to stop; what was broken is then repaired at once.
  async #wait([shortest, longest]: Range = [0, 0]): Promise<boolean> {
    const { signal } = this.#stopping
    const time = shortest + this.#random.below(longest - shortest + 1)
    await pause(time, undefined, { signal }).catch(() => {})
    return !signal.aborted
  }
}
