import { isTerminalStatus } from '../contract/run-record.ts'
import { isPromise } from '../contract/ports/awaitable.ts'
import type { EndTurn } from '../contract/ports/session-store.ts'
import type { StreamLog } from '../contract/ports/stream-log.ts'
import { PassingMap } from './passing-map.ts'

interface Turn {
  readonly holder: string | undefined
  /** Lets the turn begin; undefined once it has. */
  begin: (() => void) | undefined
  /** True while the run of its holder is suspended. */
  isKept: boolean
}

/** The turns of sessions within one process: they begin in call order, and a suspended run keeps its turn. */
export class SessionLocks {
  // The turns of each session: the first one is in progress.
  readonly #turns = new PassingMap<string, Turn[]>()
  // By runs that are suspended.
  readonly #kept = new Map<string, Set<string>>()

  /** As `SessionStore.lock`; synchronously if the turn can begin at once. */
  lock(key: string, signal: AbortSignal, holder?: string): EndTurn | Promise<EndTurn> {
    signal.throwIfAborted()
    const turns = this.#turns.get(key)
    const turn: Turn = { holder, begin: undefined, isKept: false }
    if (turns === undefined) this.#turns.set(key, [turn])
    else if (turns[0]!.isKept && turns[0]!.holder === holder) this.#replace(key, turns, turn)
    else return this.#wait(key, turns, turn, signal)
    return this.#createEnd(key, turn)
  }

  /** Ends the turns that a run has kept, since it has ended. */
  ended(runId: string): void {
    const keys = this.#kept.get(runId)
    if (keys === undefined) return
    this.#kept.delete(runId)
    for (const key of keys) this.#next(key)
  }

  /** A log at whose end its run keeps no turn any more. */
  watch(log: StreamLog): StreamLog {
    return {
      ...log,
      append: (runId, epoch, entries, change, steps) => {
        const appended = log.append(runId, epoch, entries, change, steps)
        if (change === undefined || !isTerminalStatus(change.status)) return appended
        return isPromise(appended) ? appended.then(() => this.ended(runId)) : this.ended(runId)
      }
    }
  }

  #wait(key: string, turns: Turn[], turn: Turn, signal: AbortSignal): Promise<EndTurn> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        turns.splice(turns.indexOf(turn), 1)
        reject(signal.reason as Error)
      }
      turn.begin = () => {
        signal.removeEventListener('abort', abandon)
        turn.begin = undefined
        resolve(this.#createEnd(key, turn))
      }
      signal.addEventListener('abort', abandon, { once: true })
      turns.push(turn)
    })
  }

  #createEnd(key: string, turn: Turn): EndTurn {
    let hasEnded = false
    return (keep = false) => {
      if (hasEnded) return
      hasEnded = true
      if (keep && turn.holder !== undefined) this.#keep(key, turn, turn.holder)
      else this.#next(key)
    }
  }

  #keep(key: string, turn: Turn, holder: string): void {
    const turns = this.#turns.get(key)!
    // The resumed run may already ask for its turn.
    const again = turns.find((each) => each !== turn && each.holder === holder)
    if (again !== undefined) {
      turns.splice(turns.indexOf(again), 1)
      turns[0] = again
      return again.begin?.()
    }
    turn.isKept = true
    const runId = runOf(holder)
    this.#kept.set(runId, (this.#kept.get(runId) ?? new Set()).add(key))
  }

  #replace(key: string, turns: Turn[], turn: Turn): void {
    turns[0] = turn
    const runId = runOf(turn.holder!)
    const keys = this.#kept.get(runId)
    if (keys?.delete(key) && keys.size === 0) this.#kept.delete(runId)
  }

  #next(key: string): void {
    const turns = this.#turns.get(key)
    turns?.shift()
    if (turns?.length === 0) this.#turns.delete(key)
    else turns?.[0]?.begin?.()
  }
}

function runOf(holder: string): string {
  return holder.split('/', 1)[0]!
}
