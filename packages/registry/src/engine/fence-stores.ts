import {
  isPromise,
  type Awaitable,
  type EndTurn,
  type RunFence,
  type SessionIndex,
  type SessionKey,
  type SessionKeyQuery,
  type SessionMessage,
  type SessionStore,
  type Stores,
  type TurnPlace
} from '@svc/contract'
import { override } from '../redaction/redact-stores.ts'
import { continuationIn, type EnteringRun, type RunTurn } from './place-run.ts'

type Write = <T>(write: () => Awaitable<T>) => Awaitable<T>

/** A run whose stores are fenced. */
export interface FencedRun extends EnteringRun {
  readonly stores: Stores
  /** Pending while the record of the run is being stored, without which its lease cannot be checked. */
  readonly created: Promise<unknown> | undefined
  /** As in `HostedRun`. */
  readonly suspended: boolean
  /** Its turn, which its runnable takes over. */
  readonly turn: RunTurn | undefined
  /** True once its turn is being saved. */
  turnSaved: boolean
  /** Pending while what it has said is saved as its turn: the turn must not end before. */
  readonly keeping: Promise<unknown> | undefined
}

/** The parts of a run that its sessions need. */
type TurnRun = Pick<FencedRun, keyof EnteringRun | 'suspended' | 'turn' | 'turnSaved' | 'keeping'>

/**
 * The stores of a run, which refuse what it writes after another process has leased it: turns, memories, files, and what browsers
 * and other services know of a session.
 * While it is suspended it keeps the turns of its sessions. It continues them after the turn that its caller named. With the turn of its own session it enters that one.
 */
export function fenceStores(run: FencedRun): Stores {
  const { stores } = run
  const { runId, epoch } = run.record
  const fence = { runId, epoch }
  const write: Write = (act) => {
    const { created } = run
    return created === undefined ? act() : created.then(act)
  }
  const { memory, files, browserStates, remoteSessions } = stores
  return {
    ...stores,
    sessions: new FencedSessions(stores, fence, write, run),
    memory: override(memory, { put: (item) => write(() => memory.put(item, fence)) }),
    ...(files && {
      files: override(files, { put: (id, file) => write(() => files.put(id, file, fence)) })
    }),
    ...(browserStates && {
      browserStates: override(browserStates, {
        save: (key, state) => write(() => browserStates.save(key, state, fence))
      })
    }),
    ...(remoteSessions && {
      remoteSessions: override(remoteSessions, {
        save: (key, remote, session) => write(() => remoteSessions.save(key, remote, session, fence))
      })
    })
  }
}

// A class, since every run of an agent calls it several times.
class FencedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #fence: RunFence
  readonly #write: Write
  readonly #run: TurnRun
  readonly #index: SessionIndex | undefined
  #hasEntered = false
  // Pending while it enters its session.
  #entering: Promise<void> | undefined

  constructor(stores: Stores, fence: RunFence, write: Write, run: TurnRun) {
    this.#sessions = stores.sessions
    this.#index = stores.sessionIndex
    this.#fence = fence
    this.#write = write
    this.#run = run
  }

  append(key: SessionKey, turnId: string, messages: readonly SessionMessage[]): Awaitable<void> {
    if (turnId === this.#fence.runId) {
      // A later message has decided what stays of this turn.
      if (this.#run.record.leftTurn !== null) return
      this.#run.turnSaved = true
    }
    const from = continuationIn(this.#run, key)
    const append = () => this.#write(() => this.#sessions.append(key, turnId, messages, this.#fence, from))
    return this.#entering === undefined ? append() : this.#entering.then(append)
  }

  load(key: SessionKey, maxMessages: number): Awaitable<SessionMessage[]> {
    return this.#sessions.load(key, maxMessages, continuationIn(this.#run, key))
  }

  remove(key: SessionKey): Awaitable<number> {
    return this.#sessions.remove(key)
  }

  removeTurns(key: SessionKey, runIds: readonly string[]): Awaitable<void> {
    return this.#sessions.removeTurns(key, runIds)
  }

  keys(query: SessionKeyQuery): Awaitable<SessionKey[]> {
    return this.#sessions.keys(query)
  }

  sweep(now: number): Awaitable<number> {
    return this.#sessions.sweep(now)
  }

  lock(
    key: SessionKey,
    signal: AbortSignal,
    holder?: string,
    onPlace?: (place: TurnPlace) => void
  ): Awaitable<EndTurn> {
    const keepsTurn = (end: EndTurn) => {
      if (holder === this.#fence.runId && !this.#hasEntered) this.#enter(key)
      return () => {
        const { keeping } = this.#run
        if (keeping === undefined) end(this.#run.suspended)
        else void keeping.then(() => end(this.#run.suspended))
      }
    }
    const locked = this.#run.turn?.claim(key, holder) ?? this.#sessions.lock(key, signal, holder, onPlace)
    return isPromise(locked) ? locked.then(keepsTurn) : keepsTurn(locked)
  }

  // The creation of the run precedes this write, which no step waits for: only the turn, when it is saved.
  #enter(key: SessionKey): void {
    this.#hasEntered = true
    const entering = this.#index?.enter(key, this.#fence.runId)
    if (!isPromise(entering)) return
    this.#entering = entering
    entering.catch(() => {})
  }
}
