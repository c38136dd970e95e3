import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Audit } from './audit.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { Cluster } from './cluster.ts'

/** When what goes wrong, in milliseconds: each a shortest and a longest time. */
export interface FaultTimes {
  readonly kill: Range
  readonly stop: Range
  /** How long a node is stopped, and a network is broken; longer than the lease. */
  readonly away: Range
  readonly network: Range
  readonly crash: Range
  readonly disconnect: Range
}
type Range = readonly [shortest: number, longest: number]

// Milliseconds by which a slow network delays each message.
const DELAY = 100
const NETWORK_FAULTS = ['hold', 'cut', 'slow'] as const

/** Breaks nodes, their networks and the database of a cluster at random, until it is stopped. */
export class Faults {
  readonly #cluster: Cluster
  readonly #audit: Audit
  readonly #random: Random
  readonly #times: FaultTimes
  readonly #stopping = new AbortController()
  readonly #busy = new Set<ClusterNode>()
  readonly #work: Promise<void>[]
  /** How often what went wrong. */
  readonly counts = { kills: 0, stops: 0, hold: 0, cut: 0, slow: 0, crashes: 0, disconnections: 0 }

  constructor(cluster: Cluster, audit: Audit, random: Random, times: FaultTimes) {
    this.#cluster = cluster
    this.#audit = audit
    this.#random = random
    this.#times = times
    const { kill, stop, network, crash, disconnect } = times
    this.#work = [
      this.#repeat(kill, () => this.#kill()),
      this.#repeat(stop, () => this.#stop()),
      this.#repeat(network, () => this.#breakNetwork()),
      this.#repeat(crash, () => this.#crash()),
      this.#repeat(disconnect, () => this.#disconnect())
    ]
  }

  /** Stops, and repairs everything. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#work)
  }

  async #repeat(every: Range, act: () => Promise<void>): Promise<void> {
    while (await this.#wait(every)) await act()
  }

  async #kill(): Promise<void> {
    await this.#onNode(async (node) => {
      this.counts.kills++
      await node.kill()
      // A process that ends at its start is a crash of it.
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
    this.counts.crashes++
    await this.#cluster.crashDatabase()
  }

  // The database may be crashing.
  async #disconnect(): Promise<void> {
    this.counts.disconnections++
    await this.#audit.disconnectHalf().catch(() => {})
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
  async #wait([shortest, longest]: Range): Promise<boolean> {
    const { signal } = this.#stopping
    const time = shortest + this.#random.below(longest - shortest + 1)
    await pause(time, undefined, { signal }).catch(() => {})
    return !signal.aborted
  }
}
