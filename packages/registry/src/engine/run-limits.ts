import {
  ANONYMOUS,
  RUN_ERR_OVERLOADED,
  RUN_ERR_TOO_MANY_RUNS,
  RUN_ERR_WAITING_LIMIT,
  type Stores
} from '@svc/contract'
import { ENGINE_DEFAULTS, type EngineLimits } from '../options.ts'

/** Counts the unfinished runs of each owner; anonymous runs are not counted, since they have no known owner. */
export class OwnerCounts {
  readonly #counts = new Map<string, number>()

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0
  }

  add(owner: string): void {
    if (owner !== ANONYMOUS.sub) this.#counts.set(owner, this.of(owner) + 1)
  }

  remove(owner: string): void {
    if (owner === ANONYMOUS.sub) return
    const left = this.of(owner) - 1
    if (left > 0) this.#counts.set(owner, left)
    else this.#counts.delete(owner)
  }
}

/**
 * Limits the runs in progress, in all and per owner. A run that only waits counts for its owner alone, who may be anonymous: by what it
 * holds in memory.
 */
export class RunLimits {
  /** Dormant runs count too. */
  readonly owners = new OwnerCounts()
  readonly #maxRuns: number
  readonly #maxRunsPerOwner: number
  readonly #maxWaitingBytes: number
  // Bytes that waiting runs hold, by owner.
  readonly #held = new Map<string, number>()
  readonly #waiting: (() => void)[] = []
  #live = 0
  #closed = false

  constructor({ maxRuns, maxRunsPerOwner, maxWaitingBytesPerOwner }: EngineLimits = {}) {
    this.#maxRuns = maxRuns ?? ENGINE_DEFAULTS.maxRuns
    this.#maxRunsPerOwner = maxRunsPerOwner ?? ENGINE_DEFAULTS.maxRunsPerOwner
    this.#maxWaitingBytes = maxWaitingBytesPerOwner ?? ENGINE_DEFAULTS.maxWaitingBytesPerOwner
  }

  /** @throws RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS, RUN_ERR_WAITING_LIMIT */
  require(owner: string): void {
    if (this.#live >= this.#maxRuns) throw new RUN_ERR_OVERLOADED()
    this.requireOwn(owner)
  }

  /** The limits of one owner. @throws RUN_ERR_TOO_MANY_RUNS, RUN_ERR_WAITING_LIMIT */
  requireOwn(owner: string): void {
    if (this.owners.of(owner) >= this.#maxRunsPerOwner) throw new RUN_ERR_TOO_MANY_RUNS()
    this.requireHold(owner, 1)
  }

  /** Checks that the waiting runs of an owner may hold so many more bytes. @throws RUN_ERR_WAITING_LIMIT */
  requireHold(owner: string, bytes: number): void {
    if (this.#heldBy(owner) + bytes > this.#maxWaitingBytes) throw new RUN_ERR_WAITING_LIMIT()
  }

  /** A waiting run holds more bytes, or fewer. */
  hold(owner: string, bytes: number): void {
    const held = this.#heldBy(owner) + bytes
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }

  /** A run begins to wait, and holds these bytes meanwhile. */
  waits(owner: string, bytes: number): void {
    this.hold(owner, bytes)
    this.#live--
    this.#waiting.shift()?.()
  }

  /** A run has waited. It was admitted before, so that it may exceed the limit. */
  works(owner: string, bytes: number): void {
    this.hold(owner, -bytes)
    this.#live++
  }

  /** What the store of several processes is asked to limit an owner's runs to; it does not count those of anonymous callers. */
  inStore({ lease }: Pick<Stores, 'lease'>, owner: string): number | undefined {
    return lease === undefined || owner === ANONYMOUS.sub ? undefined : this.#maxRunsPerOwner
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

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }

  /** Resolves when one more run may start; undefined if it may now. */
  vacancy(): Promise<void> | undefined {
    if (this.#live < this.#maxRuns || this.#closed) return undefined
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Ends all waits. */
  close(): void {
    this.#closed = true
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
