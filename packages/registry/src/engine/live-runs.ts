import { ANONYMOUS, setNewest, type Stores } from '@svc/contract'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_OVERLOADED,
  RUN_ERR_TOO_MANY_RUNS,
  RUN_ERR_WAITING_LIMIT
} from '@svc/contract/errors'
import { PassingMap } from '@svc/contract/stores'
import { ENGINE_DEFAULTS, type EngineLimits } from '../options.ts'
import type { LiveRun } from './live-run.ts'
import type { CountedRun } from './run-host.ts'
import type { StartRefusal } from './run-engine.ts'

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

// Milliseconds over which refusals are counted, so many of which are often, and the most owners that are remembered.
const WINDOW = 1_000
const OFTEN = 20
const MAX_OWNERS = 10_000

interface Refusals {
  since: number
  count: number
}

/** How often the starts of each owner are refused. */
class RefusalRates {
  readonly #owners = new Map<string, Refusals>()

  /** A start was refused. */
  add(owner: string): void {
    const refusals = this.#recent(owner)
    if (refusals !== undefined) return void refusals.count++
    setNewest(this.#owners, owner, { since: performance.now(), count: 1 }, MAX_OWNERS)
  }

  /** True if the starts of an owner were refused more than 20 times within a second, just now. */
  isOften(owner: string): boolean {
    return (this.#recent(owner)?.count ?? 0) > OFTEN
  }

  #recent(owner: string): Refusals | undefined {
    const refusals = this.#owners.get(owner)
    return refusals !== undefined && performance.now() - refusals.since < WINDOW ? refusals : undefined
  }
}

/** Waits for the runs in progress when a service shuts down. */
class Drain {
  readonly #waitingFor = new Set<string>()
  readonly #over = Promise.withResolvers<void>()
  readonly #handOver: ((run: LiveRun) => void) | undefined

  /** @param handOver leaves a run to another node, so that it need not wait for the others; undefined if there is none */
  constructor(handOver?: (run: LiveRun) => void) {
    this.#handOver = handOver
  }

  /** Resolves once no run has to be waited for, after `timeout` milliseconds at the latest. */
  async wait(runs: readonly LiveRun[], timeout: number): Promise<void> {
    for (const { runId } of runs) this.#waitingFor.add(runId)
    for (const run of runs) this.stop(run)
    if (this.#waitingFor.size === 0) return
    const timer = setTimeout(this.#over.resolve, timeout)
    await this.#over.promise
    clearTimeout(timer)
  }

  /** A run that another process can resume need not end: it is left once its current steps are recorded. */
  stop(run: LiveRun): void {
    if (run.resumable) run.stopSteps(() => (this.#handOver ? this.#handOver(run) : this.leave(run.runId)))
  }

  /** A run has ended, or may be left as it is. */
  leave(runId: string): void {
    if (this.#waitingFor.delete(runId) && this.#waitingFor.size === 0) this.#over.resolve()
  }
}

/**
 * The runs in progress in this process, and their limits, in all and per owner. A run that only waits counts for its owner alone, who may
 * be anonymous: by what it holds in memory.
 */
export class LiveRuns {
  readonly refusals = new RefusalRates()
  /** Dormant runs count too. */
  readonly owners = new OwnerCounts()
  readonly #maxRuns: number
  readonly #maxRunsPerOwner: number
  readonly #maxWaitingBytes: number
  readonly #runs = new PassingMap<string, LiveRun>()
  // Those that do not wait.
  #working = 0
  // Bytes that waiting runs hold, by owner.
  readonly #held = new Map<string, number>()
  // Called one by one, as more runs may start.
  readonly #vacancies: (() => void)[] = []
  #drain: Drain | undefined

  constructor({ maxRuns, maxRunsPerOwner, maxWaitingBytesPerOwner }: EngineLimits = {}) {
    this.#maxRuns = maxRuns ?? ENGINE_DEFAULTS.maxRuns
    this.#maxRunsPerOwner = maxRunsPerOwner ?? ENGINE_DEFAULTS.maxRunsPerOwner
    this.#maxWaitingBytes = maxWaitingBytesPerOwner ?? ENGINE_DEFAULTS.maxWaitingBytesPerOwner
  }

  get size(): number {
    return this.#runs.size
  }

  get draining(): boolean {
    return this.#drain !== undefined
  }

  has(runId: string): boolean {
    return this.#runs.has(runId)
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId)
  }

  list(): LiveRun[] {
    return this.#runs.values()
  }

  /** As `RunEngine.refusal`. */
  refusal(owner: string, isOften = false, runs = 1): StartRefusal | undefined {
    const often = this.refusals.isOften(owner)
    if (isOften && !often) return undefined
    if (this.draining) return { error: new RUN_ERR_DRAINING(), often }
    try {
      this.#requireVacancy(owner, runs)
    } catch (err) {
      this.refusals.add(owner)
      return { error: err as Error, often }
    }
    // Those of an owner whose runs other processes have are refused by the store.
    return often ? { error: new RUN_ERR_TOO_MANY_RUNS(), often } : undefined
  }

  // Of several runs in a session only one works.
  #requireVacancy(owner: string, runs = 1): void {
    if (this.#working >= this.#maxRuns) throw new RUN_ERR_OVERLOADED()
    if (this.owners.of(owner) + runs > this.#maxRunsPerOwner) throw new RUN_ERR_TOO_MANY_RUNS()
    this.requireHold(owner, 1)
  }

  /** Checks that the waiting runs of an owner may hold so many more bytes. @throws RUN_ERR_WAITING_LIMIT */
  requireHold(owner: string, bytes: number): void {
    if (this.#heldBy(owner) + bytes > this.#maxWaitingBytes) throw new RUN_ERR_WAITING_LIMIT()
  }

  /** What the store of several processes is asked to limit an owner's runs to; it does not count those of anonymous callers. */
  limitInStore({ lease }: Pick<Stores, 'lease'>, owner: string): number | undefined {
    return lease === undefined || owner === ANONYMOUS.sub ? undefined : this.#maxRunsPerOwner
  }

  /** Resolves when one more run may start; undefined if it may now. */
  vacancy(): Promise<void> | undefined {
    if (this.#working < this.#maxRuns || this.draining) return undefined
    return new Promise((resolve) => this.#vacancies.push(resolve))
  }

  enter(run: LiveRun): void {
    this.#runs.add(run.runId, run)
    this.#working++
    this.owners.add(run.record.owner)
  }

  /** A waiting run holds more bytes, or fewer. */
  hold(owner: string, bytes: number): void {
    const held = this.#heldBy(owner) + bytes
    if (held > 0) this.#held.set(owner, held)
    else this.#held.delete(owner)
  }

  /** A run begins to wait, and counts for its owner only, with what it holds. */
  waits({ record, heldBytes }: CountedRun): void {
    this.hold(record.owner, heldBytes)
    this.#working--
    this.#vacancies.shift()?.()
  }

  /** A run has waited. It was admitted before, so that it may exceed the limit. */
  works({ record, heldBytes }: CountedRun): void {
    this.hold(record.owner, -heldBytes)
    this.#working++
  }

  /** A run that was started before a drain, and begins during it, begins no steps. */
  begun(run: LiveRun): void {
    this.#drain?.stop(run)
  }

  leave({ runId, record }: Pick<LiveRun, 'runId' | 'record'>): void {
    this.#runs.delete(runId)
    this.#working--
    this.owners.remove(record.owner)
    this.#vacancies.shift()?.()
    this.#drain?.leave(runId)
  }

  /**
   * Admits no more runs and waits for those in progress, for `timeout` milliseconds at most. Call it once.
   * @param handOver leaves a run to another node, if there may be one
   */
  drain(timeout: number, handOver?: (run: LiveRun) => void): Promise<void> {
    this.#drain = new Drain(handOver)
    for (const resolve of this.#vacancies.splice(0)) resolve()
    return this.#drain.wait(this.list(), timeout)
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0
  }
}
