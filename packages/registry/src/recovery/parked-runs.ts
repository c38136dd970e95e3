import { MAX_TIMER, timeOf, type LeftRun, type RunnableKey, type Stores } from '@svc/contract'
import type { Unloaded } from '../engine/run-host.ts'
import type { OwnerCounts, RunLimits } from '../engine/run-limits.ts'

/** The fields of an unfinished run with which it can be loaded. */
export interface ParkedRun extends Omit<LeftRun, 'cancelRequested' | 'checkpointBytes'> {
  /** If this process has unloaded it. */
  readonly unloaded?: Unloaded | undefined
}

/** An action on a run that is still parked at a given time. */
interface Due {
  /** Milliseconds since the epoch, as `timeOf`. */
  at: number
  act: (run: ParkedRun) => void
  /** True if the run waits for its runnable to be registered. */
  awaitsRunnable?: boolean
  /** The inputs that a dormant run waits for. */
  inputIds?: readonly string[]
}

interface Parked {
  run: ParkedRun
  due: Due | undefined
  timer: NodeJS.Timeout | undefined
}

/** The unfinished runs that are not loaded: they wait for their runnable, for an answer, for a time, or for their turn. */
export class ParkedRuns {
  readonly #owners: OwnerCounts
  readonly #limits: Pick<RunLimits, 'hold'>
  readonly #stores: Pick<Stores, 'lease'>
  readonly #parked = new Map<string, Parked>()

  /** @param stores whose clock decides when a run is due */
  constructor(owners: OwnerCounts, limits: Pick<RunLimits, 'hold'>, stores: Pick<Stores, 'lease'>) {
    this.#limits = limits
    this.#owners = owners
    this.#stores = stores
  }

  /** Parks a run, or parks it again with another due time. */
  park(run: ParkedRun, due?: Due): void {
    const { runId, registry, kind, name, owner, unloaded } = run
    this.take(runId)
    // Only these fields: there may be very many parked runs.
    const parked: Parked = { run: { runId, registry, kind, name, owner, unloaded }, due, timer: undefined }
    this.#parked.set(runId, parked)
    this.#owners.add(owner)
    this.#limits.hold(owner, unloaded?.heldBytes ?? 0)
    if (due === undefined) return
    const wait = () => {
      const left = due.at - timeOf(this.#stores)
      if (left <= 0) due.act(parked.run)
      else parked.timer = setTimeout(wait, Math.min(left, MAX_TIMER)).unref()
    }
    parked.timer = setTimeout(wait, 0).unref()
  }

  get(runId: string): ParkedRun | undefined {
    return this.#parked.get(runId)?.run
  }

  /** True if the run waits for its runnable to be registered. */
  awaitsRunnable(runId: string): boolean {
    return this.#parked.get(runId)?.due?.awaitsRunnable === true
  }

  /** False if a dormant run waits for other inputs only. */
  awaitsInput(runId: string, inputId: string): boolean {
    return this.#parked.get(runId)?.due?.inputIds?.includes(inputId) ?? true
  }

  /** The runs that wait for a runnable. */
  awaiting({ registry, kind, name }: RunnableKey): ParkedRun[] {
    const awaiting = [...this.#parked.values()].filter(
      ({ run, due }) =>
        due?.awaitsRunnable && run.registry === registry && run.kind === kind && run.name === name
    )
    return awaiting.map(({ run }) => run)
  }

  /** Removes a run; true for the call that did. */
  take(runId: string): boolean {
    const parked = this.#parked.get(runId)
    if (parked === undefined) return false
    clearTimeout(parked.timer)
    const { owner, unloaded } = parked.run
    this.#owners.remove(owner)
    this.#limits.hold(owner, -(unloaded?.heldBytes ?? 0))
    return this.#parked.delete(runId)
  }

  /** Removes all runs. */
  clear(): void {
    for (const runId of this.#parked.keys()) this.take(runId)
  }
}
