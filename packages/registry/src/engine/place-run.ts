import {
  ANONYMOUS,
  isPromise,
  sessionKeyText,
  type Awaitable,
  type Continuation,
  type EndTurn,
  type PlacedTurn,
  type Runnable,
  type SessionKey,
  type SessionStore,
  type StoredRun,
  type Stores,
  type TurnPlace
} from '@svc/contract'
import type { StartOptions } from './start-options.ts'

/** The turn of a run in its session: the engine takes it before the run executes, and its runnable ends it. */
export class RunTurn {
  /** The place of the run when it was accepted. */
  readonly placed: PlacedTurn
  /** Its place now, as far as this process knows. */
  place: TurnPlace
  readonly #sessions: SessionStore
  readonly #key: SessionKey
  readonly #runId: string
  #end: EndTurn | undefined
  #isAsked = false
  #hasLeft = false
  #isClaimed = false

  constructor(sessions: SessionStore, key: SessionKey, runId: string, placed: PlacedTurn) {
    this.#sessions = sessions
    this.#key = key
    this.#runId = runId
    this.placed = this.place = placed
  }

  get sessionKey(): string {
    return sessionKeyText(this.#key)
  }

  /** Waits until the turn has begun; `onPlace` is called as in `SessionStore.lock`. @throws the signal's reason if it aborts first */
  take(signal: AbortSignal, onPlace: (place: TurnPlace) => void): Awaitable<void> {
    this.#isAsked = true
    const locked = this.#sessions.lock(this.#key, signal, this.#runId, (place) => {
      this.place = place
      onPlace(place)
    })
    const hold = (end: EndTurn) => {
      this.#end = end
      if (this.#hasLeft) end()
    }
    return isPromise(locked) ? locked.then(hold) : hold(locked)
  }

  /** Hands the turn over to the runnable, once; undefined if it asks for another one. */
  claim(key: SessionKey, holder: string | undefined): EndTurn | undefined {
    if (this.#isClaimed || this.#end === undefined || holder !== this.#runId) return undefined
    if (sessionKeyText(key) !== sessionKeyText(this.#key)) return undefined
    this.#isClaimed = true
    return this.#end
  }

  /** The run has left this process: ends the turn unless its runnable does. @param keep true if it is suspended */
  leave(keep: boolean): void {
    this.#hasLeft = true
    if (this.#end !== undefined && !this.#isClaimed) this.#end(keep)
    else if (!this.#isAsked && !keep) this.placed.leave()
  }
}

/** The parts of a run that its session depends on. */
export interface EnteringRun {
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
}

/** The parts of a run that its place depends on. */
export interface PlacedRun extends EnteringRun {
  readonly ended: boolean
  readonly suspended: boolean
  /** The turn that it takes before it executes; undefined if it takes none, or the first one of a new session. */
  turn: RunTurn | undefined
}

/** Whose sessions a caller uses: without credentials, those of its `userId`. */
export function sessionOwnerOf({
  principal = ANONYMOUS,
  userId
}: Pick<StartOptions, 'principal' | 'userId'>): string {
  const { sub } = principal
  return sub === ANONYMOUS.sub ? (userId ?? sub) : sub
}

/** The session of a run. */
function sessionOf({ record, options }: Pick<EnteringRun, 'record' | 'options'>): SessionKey {
  const { registry, kind, name, sessionId } = record
  return { registry, kind, name, sessionId, owner: sessionOwnerOf(options) }
}

/**
 * Where a run continues a session: its own after the turn that its caller named, those of the runnables that it calls on the same branch.
 */
export function continuationIn(run: EnteringRun, key: SessionKey): Continuation | undefined {
  const { runnable, options, record } = run
  const { afterTurn: after } = options
  if (options.sessionId !== key.sessionId || runnable.takesTurns !== true) return undefined
  const { runId, kind, name } = record
  if (key.kind !== kind || key.name !== name) return { runId, after, along: sessionOf(run) }
  return after === undefined ? undefined : { runId, after }
}

/**
 * Enters the session of a run that takes no turns, at its beginning; others enter with their turn. A session that such a run makes for
 * itself is not listed.
 */
export function enterSession(
  { sessionIndex }: Pick<Stores, 'sessionIndex'>,
  run: EnteringRun
): Awaitable<void> {
  const { runnable, options, record } = run
  if (options.sessionId === undefined || runnable.takesTurns === true) return
  return sessionIndex?.enter(sessionOf(run), record.runId)
}

/**
 * Gives a run its place among the turns of its session; a new session has no other turns. A run that takes none enters its session.
 * @param ifFree as in `SessionStore.place`
 */
export function placeRun(stores: Stores, run: PlacedRun, ifFree = false): Awaitable<PlacedTurn | undefined> {
  const { runnable, options, record } = run
  if (options.sessionId === undefined) return undefined
  if (runnable.takesTurns !== true) {
    const entering = enterSession(stores, run)
    return isPromise(entering) ? entering.then(() => undefined) : undefined
  }
  const { sessions } = stores
  const key = sessionOf(run)
  const placed = sessions.place?.(key, record.runId, ifFree)
  if (placed === undefined) return undefined
  const keep = (place: PlacedTurn) => {
    const turn = new RunTurn(sessions, key, record.runId, place)
    if (run.ended) turn.leave(run.suspended)
    else run.turn = turn
    return place
  }
  return isPromise(placed) ? placed.then(keep) : keep(placed)
}
