import { setTimeout as pause } from 'node:timers/promises'
import { Fatal, type Persistent } from '../agents/service.ts'
import type { Random } from '../random.ts'
import type { ClusterNode } from './cluster-node.ts'

// Milliseconds between two attempts.
const PAUSE = 100

/** How a client reaches the nodes of a cluster: one at random, unless it prefers one that is there. */
export class Reach implements Persistent {
  readonly #nodes: readonly ClusterNode[]
  readonly #random: Random
  readonly #over: AbortSignal
  readonly #preferred: string | undefined

  /** @param over ends all attempts */
  constructor(nodes: readonly ClusterNode[], random: Random, over: AbortSignal, preferred?: string) {
    this.#nodes = nodes
    this.#random = random
    this.#over = over
    this.#preferred = preferred
  }

  /** The same nodes; one of them is preferred. */
  prefer(url: string): Reach {
    return new Reach(this.#nodes, this.#random, this.#over, url)
  }

  async persist<T>(act: (url: string) => Promise<T>): Promise<T> {
    let last: unknown = 'there was no node'
    for (let isFirst = true; ; isFirst = false) {
      if (this.#over.aborted) throw new Fatal(`it is still under way; ${String(last)}`)
      const urls = this.#nodes.flatMap(({ url }) => url ?? [])
      const isPreferred = isFirst && this.#preferred !== undefined && urls.includes(this.#preferred)
      const url = isPreferred ? this.#preferred : urls.length > 0 ? this.#random.pick(urls) : undefined
      if (url !== undefined)
        try {
          return await act(url)
        } catch (err) {
          if (err instanceof Fatal) throw err
          last = err
        }
      await pause(PAUSE)
    }
  }
}
