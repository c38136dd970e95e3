import { isPromise } from '../ports/awaitable.ts'
import type { EndTurn, PlacedTurn, TurnPlace } from '../ports/session-store.ts'
import type { StreamLog } from '../ports/stream-log.ts'
import { isTerminalStatus } from '../run-record.ts'
import { PassingMap } from './passing-map.ts'

/** Releases a lock; a second call does nothing. */
export type Release = () => void

interface Waiting {
  begin(): void
}

/** A mutex per key, granted in call order. */
export class KeyedLock {
  // The held keys, each with its queue.
  readonly #held = new PassingMap<string, Waiting[]>()

  /** Locks a key; synchronously if it is free. @throws the signal's reason if it aborts first */
  lock(key: string, signal: AbortSignal): Release | Promise<Release> {
    signal.throwIfAborted()
    const queue = this.#held.get(key)
    if (queue !== undefined) return this.#wait(key, queue, signal)
    this.#held.set(key, [])
    return this.#release(key)
  }

  #wait(key: string, queue: Waiting[], signal: AbortSignal): Promise<Release> {
    return new Promise((resolve, reject) => {
      const abandon = () => {
        queue.splice(queue.indexOf(waiting), 1)
        reject(signal.reason as Error)
      }
      const waiting = {
        begin: () => {
          signal.removeEventListener('abort', abandon)
          resolve(this.#release(key))
        }
      }
      signal.addEventListener('abort', abandon, { once: true })
      queue.push(waiting)
    })
  }

  #release(key: string): Release {
    let released = false
    return () => {
      if (released) return
      released = true
      const next = this.#held.get(key)?.shift()
      if (next === undefined) this.#held.delete(key)
      else next.begin()
    }
  }
}

interface Turn {
  readonly holder: string | undefined
  /** Lets the turn begin; undefined once it has, or while it is only placed. */
  begin: (() => void) | undefined
  onPlace: ((place: TurnPlace) => void) | undefined
  /** True until `lock` is called with its holder. */
  isPlaced: boolean
  /** True while the run of its holder is suspended. */
  isKept: boolean
}

const FREE: TurnPlace = Object.freeze({ position: 0 })
const nothing = () => {}

/** The turns of sessions within one process: they begin in call order, and a suspended run keeps its turn. */
export class SessionLocks {
  // The turns of each session: the first one is in progress.
  readonly #turns = new PassingMap<string, Turn[]>()
  // By runs that are suspended.
  readonly #kept = new Map<string, Set<string>>()

  /** As `SessionStore.place`. */
  place(key: string, runId: string, ifFree = false): PlacedTurn {
    const turns = this.#turns.get(key)
    const [first] = turns ?? []
    // The run is resumed: its turn is kept.
    if (first?.isKept === true && first.holder === runId) return { ...FREE, leave: nothing }
    const place = turns === undefined ? FREE : placeAt(turns, turns.length)
    if (turns !== undefined && ifFree) return { ...place, leave: nothing }
    const turn: Turn = { holder: runId, begin: undefined, onPlace: undefined, isPlaced: true, isKept: false }
    if (turns === undefined) this.#turns.set(key, [turn])
    else turns.push(turn)
    return { ...place, leave: () => turn.isPlaced && this.#remove(key, turn) }
  }

  /** As `SessionStore.lock`; synchronously if the turn can begin at once. */
  lock(
    key: string,
    signal: AbortSignal,
    holder?: string,
    onPlace?: (place: TurnPlace) => void
  ): EndTurn | Promise<EndTurn> {
    signal.throwIfAborted()
    const turns = this.#turns.get(key) ?? []
    if (turns.length === 0) this.#turns.set(key, turns)
    const placed =
      holder === undefined ? undefined : turns.find((turn) => turn.isPlaced && turn.holder === holder)
    const turn: Turn = placed ?? { holder, begin: undefined, onPlace, isPlaced: false, isKept: false }
    Object.assign(turn, { onPlace, isPlaced: false })
    if (placed === undefined && turns[0]?.isKept === true && turns[0].holder === holder)
      this.#replace(key, turns, turn)
    else if (placed === undefined) turns.push(turn)
    return turns[0] === turn ? this.#createEnd(key, turn) : this.#wait(key, turns, turn, signal)
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
        this.#remove(key, turn)
        reject(signal.reason as Error)
      }
      turn.begin = () => {
        signal.removeEventListener('abort', abandon)
        turn.begin = turn.onPlace = undefined
        resolve(this.#createEnd(key, turn))
      }
      signal.addEventListener('abort', abandon, { once: true })
      turn.onPlace?.(placeAt(turns, turns.indexOf(turn)))
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
    if (turns?.[0] !== undefined) this.#remove(key, turns[0])
  }

  #remove(key: string, turn: Turn): void {
    const turns = this.#turns.get(key)
    const index = turns?.indexOf(turn) ?? -1
    if (turns === undefined || index === -1) return
    turns.splice(index, 1)
    if (turns.length === 0) return void this.#turns.delete(key)
    if (index === 0) turns[0]!.begin?.()
    for (let at = Math.max(index, 1); at < turns.length; at++) turns[at]!.onPlace?.(placeAt(turns, at))
  }
}

function placeAt(turns: readonly Turn[], position: number): TurnPlace {
  const { holder } = turns[0]!
  return { position, ...(holder !== undefined && { active: runOf(holder) }) }
}

function runOf(holder: string): string {
  return holder.split('/', 1)[0]!
}
