import { isPromise } from '../awaitable.ts'
import { codeOf } from '../create-error.ts'
import type { EndTurn, PlacedTurn, SessionMessage, TurnPlace } from '../ports/session-store.ts'
import type { StreamLog } from '../ports/stream-log.ts'
import { isTerminalStatus } from '../run-result.ts'
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
  /** True until `lock` is called with its holder, and again if the run is suspended while it waits. */
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
  // The sessions in which suspended runs have turns.
  readonly #kept = new Map<string, Set<string>>()

  /** As `SessionStore.place`. */
  place(key: string, runId: string, ifFree = false): PlacedTurn {
    const turns = this.#turns.get(key)
    // The run is resumed.
    const kept = turns?.findIndex((turn) => turn.holder === runId && (turn.isPlaced || turn.isKept)) ?? -1
    if (kept !== -1) {
      const place = kept === 0 ? FREE : placeAt(turns!, kept)
      return { ...place, leave: this.#createLeave(key, turns![kept]!) }
    }
    const place = turns === undefined ? FREE : placeAt(turns, turns.length)
    if (turns !== undefined && ifFree) return { ...place, leave: nothing }
    const turn: Turn = { holder: runId, begin: undefined, onPlace: undefined, isPlaced: true, isKept: false }
    if (turns === undefined) this.#turns.set(key, [turn])
    else turns.push(turn)
    return { ...place, leave: this.#createLeave(key, turn) }
  }

  /** As `SessionStore.lock`; synchronously if the turn can begin at once. */
  lock(
    key: string,
    signal: AbortSignal,
    holder?: string,
    onPlace?: (place: TurnPlace) => void
  ): EndTurn | Promise<EndTurn> {
    signal.throwIfAborted()
    const turns = this.#turns.get(key)
    if (turns === undefined) {
      const only: Turn = { holder, begin: undefined, onPlace, isPlaced: false, isKept: false }
      this.#turns.set(key, [only])
      return this.#createEnd(key, only)
    }
    const placed =
      holder === undefined ? undefined : turns.find((turn) => turn.isPlaced && turn.holder === holder)
    const turn: Turn = placed ?? { holder, begin: undefined, onPlace, isPlaced: false, isKept: false }
    turn.onPlace = onPlace
    turn.isPlaced = false
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
    for (const key of keys) {
      const isLeft = ({ holder, isPlaced, isKept }: Turn) =>
        (isPlaced || isKept) && holder !== undefined && runOf(holder) === runId
      for (const turn of this.#turns.get(key)?.filter(isLeft) ?? []) this.#remove(key, turn)
    }
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
        // The run is suspended, and resumed in its place.
        if (turn.holder !== undefined && codeOf(signal.reason) === 'RUN_ERR_SUSPENDED') {
          turn.begin = turn.onPlace = undefined
          turn.isPlaced = true
          this.#keepFor(turn.holder, key)
        } else this.#remove(key, turn)
        reject(signal.reason as Error)
      }
      // V8 keeps a function that is written where it is assigned to a property until the next full garbage collection.
      const begin = () => {
        signal.removeEventListener('abort', abandon)
        turn.begin = turn.onPlace = undefined
        resolve(this.#createEnd(key, turn))
      }
      turn.begin = begin
      signal.addEventListener('abort', abandon, { once: true })
      turn.onPlace?.(placeAt(turns, turns.indexOf(turn)))
    })
  }

  #createLeave(key: string, turn: Turn): PlacedTurn['leave'] {
    return (keep = false) => {
      if (!turn.isPlaced) return
      if (keep) this.#keepFor(turn.holder!, key)
      else this.#remove(key, turn)
    }
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
    this.#keepFor(holder, key)
  }

  #keepFor(holder: string, key: string): void {
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

/** Listeners by the keys of sessions, called when a run entered. */
export class SessionFollowers {
  readonly #followers = new Map<string, Set<() => void>>()

  /** The sessions that have listeners. */
  get keys(): string[] {
    return [...this.#followers.keys()]
  }

  /** Adds a listener, until the returned function is called. */
  follow(sessionKey: string, listener: () => void): () => void {
    const followers = this.#followers.get(sessionKey) ?? new Set()
    // An object of its own: the same function may follow twice.
    const own = () => listener()
    this.#followers.set(sessionKey, followers.add(own))
    return () => {
      followers.delete(own)
      if (followers.size === 0 && this.#followers.get(sessionKey) === followers)
        this.#followers.delete(sessionKey)
    }
  }

  notify(sessionKey: string): void {
    for (const listener of this.#followers.get(sessionKey) ?? []) listener()
  }

  notifyAll(): void {
    for (const key of this.keys) this.notify(key)
  }
}

/** The maximum length of a title that is taken from a message, in characters. */
const MAX_TITLE = 80
// Characters of a message that are looked at: more than a title and the space before it need.
const BEGINNING = 1_000

/** A title from the first user message with text, on one line; null if there is none. */
export function titleOf(messages: readonly SessionMessage[]): string | null {
  for (const message of messages) {
    if (message.role !== 'user') continue
    const title = shorten(textOf(message.content))
    if (title !== '') return title
  }
  return null
}

/** How many of these messages, newest first, a history reaches back to: those up to the newest summary and what it keeps. */
export function reachOf(messages: readonly SessionMessage[]): number {
  const at = messages.findIndex(({ role }) => role === 'summary')
  const summary = messages[at]
  return summary?.role === 'summary' ? at + 1 + summary.keeps : Infinity
}

/** True for a turn of a run of its own, not of a member or a step: then its session is listed. */
export function isOwnTurn(turnId: string): boolean {
  return !turnId.includes('/')
}

/** The run that saved a turn. */
export function runIdOfTurn(turnId: string): string {
  const slash = turnId.indexOf('/')
  return slash < 0 ? turnId : turnId.slice(0, slash)
}

function textOf(content: Extract<SessionMessage, { role: 'user' }>['content']): string {
  if (typeof content === 'string') return content
  const text = content.find((part) => part.type === 'text')
  return text !== undefined && 'text' in text ? text.text : ''
}

function shorten(text: string): string {
  const line = text.slice(0, BEGINNING).replaceAll(/\s+/g, ' ').trim()
  if (line.length <= MAX_TITLE) return line.toWellFormed()
  const space = line.lastIndexOf(' ', MAX_TITLE - 1)
  const end = space > MAX_TITLE / 2 ? space : MAX_TITLE - 1
  return `${line.slice(0, end).replace(/[\ud800-\udbff]$/, '')}…`
}

// Longer runs of letters are encoded data or keys.
const MOST_CHARACTERS = 64

/** The words of a text, in lower case. */
export function wordsOf(text: string): Set<string> {
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
  for (const word of words) if (word.length > MOST_CHARACTERS) words.delete(word)
  return words
}

/** The weight of a word that `having` of `items` items contain: the inverse document frequency of BM25. */
export function weighWord(items: number, having: number): number {
  return Math.log(1 + (items - having + 0.5) / (having + 0.5))
}
