import { RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS } from '../errors.ts'
import { ENGINE_DEFAULTS, type EngineLimits } from '../options.ts'
import { OwnerCounts } from './owner-counts.ts'

/** How many runs there may be at once, in all and of one owner. */
export class RunLimits {
  /** Unfinished runs by owner; those that rest count too. */
  readonly owners = new OwnerCounts()
  readonly #maxRuns: number
  readonly #maxRunsPerOwner: number
  readonly #waiting: (() => void)[] = []
  #live = 0
  #closed = false

  constructor({ maxRuns, maxRunsPerOwner }: EngineLimits = {}) {
    this.#maxRuns = maxRuns ?? ENGINE_DEFAULTS.maxRuns
    this.#maxRunsPerOwner = maxRunsPerOwner ?? ENGINE_DEFAULTS.maxRunsPerOwner
  }

  /** @throws RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS */
  require(owner: string): void {
    if (this.#live >= this.#maxRuns) throw new RUN_ERR_OVERLOADED()
    if (this.owners.of(owner) >= this.#maxRunsPerOwner) throw new RUN_ERR_TOO_MANY_RUNS()
  }

  enter(owner: string): void {
    this.#live++
    this.owners.add(owner)
  }

  leave(owner: string): void {
    this.#live--
    this.owners.remove(owner)
    this.#waiting.shift()?.()
  }

  /** Resolves when one more run may be under way; undefined when it may be now. */
  room(): Promise<void> | undefined {
    if (this.#live < this.#maxRuns || this.#closed) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Nobody waits for room any longer. */
  close(): void {
    this.#closed = true
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
