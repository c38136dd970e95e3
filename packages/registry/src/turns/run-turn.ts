import {
  isPromise,
  sessionKeyText,
  type Awaitable,
  type EndTurn,
  type PlacedTurn,
  type SessionKey,
  type SessionStore,
  type TurnPlace
} from '@svc/contract'

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
