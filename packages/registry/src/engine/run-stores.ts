import {
  defined,
  andThen,
  isPromise,
  type Awaitable,
  type EndTurn,
  type HistoryBounds,
  type MemoryStore,
  type Redact,
  type RunChange,
  type RunFence,
  type SessionKey,
  type SessionKeyQuery,
  type SessionMessage,
  type SessionStore,
  type StoredSchedule,
  type Stores,
  type TurnPlace
} from '@svc/contract'
import { continuationIn, type EnteringRun, type RunTurn } from '../turns/run-turn.ts'
import type { AnswerSeal } from './inputs/answer-seal.ts'

/**
 * Wraps the stores of a run so that contents are stored without the caller's keys. Owners and names are stored unchanged, and so are
 * the parts of a log, which are redacted before. The bytes of files and the state of browsers are stored as they are.
 * @param seal other processes that share the stores cannot redact the answers that they store: they encrypt them for this one
 */
export function redactStores(stores: Stores, redact: Redact | undefined, seal?: AnswerSeal): Stores {
  if (redact === undefined) return stores
  const sealKey = stores.lease && seal?.publicKey
  const { runs, log, sessions, memory, checkpoints, tasks, control } = stores
  const { files, browserStates, remoteSessions, sessionIndex, counters, schedules, lease } = stores
  return {
    tasks,
    control,
    ...defined({ browserStates, remoteSessions, sessionIndex, counters }),
    ...(schedules && {
      schedules: override(schedules, {
        create: (schedule, maxPerOwner) => schedules.create(redactPlan(schedule, redact), maxPerOwner),
        change: (schedule, maxPerOwner) => schedules.change(redactPlan(schedule, redact), maxPerOwner)
      })
    }),
    ...(lease && { lease }),
    runs: override(runs, {
      recordStep: (runId, epoch, key, output) => runs.recordStep(runId, epoch, key, redact(output)),
      answerInput: (runId, inputId, answer) =>
        runs.answerInput(runId, inputId, redactFields(answer, ['reason', 'content'], redact)),
      replaceAnswer: (inputId, sealed, answer, key) =>
        runs.replaceAnswer(
          inputId,
          sealed,
          answer && redactFields(answer, ['reason', 'content'], redact),
          key
        )
    }),
    log: override(log, {
      append: (runId, epoch, entries, change, steps) =>
        log.append(
          runId,
          epoch,
          entries,
          change && redactInput(change, redact, sealKey),
          steps?.map((step) => redactFields(step, ['output'], redact))
        )
    }),
    sessions: override(sessions, {
      append: (key, turnId, messages, fence, from) =>
        sessions.append(key, turnId, redact(messages), fence, from)
    }),
    memory: override(memory, {
      put: (item, fence) => memory.put(redactFields(item, ['text', 'metadata'], redact), fence)
    }),
    checkpoints: override(checkpoints, {
      save: (runId, epoch, state) => checkpoints.save(runId, epoch, redact(state))
    }),
    ...(files && {
      files: override(files, {
        put: (runId, file, fence) =>
          files.put(runId, redactFields(file, ['mimeType', 'filename'], redact), fence)
      })
    })
  }
}

/** Returns a copy with some fields redacted. */
export function redactFields<T extends object>(value: T, names: readonly (keyof T)[], redact: Redact): T {
  const redacted = { ...value }
  for (const name of names) if (name in value) redacted[name] = redact(value[name])
  return redacted
}

function redactPlan(schedule: StoredSchedule, redact: Redact): StoredSchedule {
  return { ...schedule, plan: redactFields(schedule.plan, ['input', 'metadata'], redact) }
}

// The result and the error of a change are already redacted.
function redactInput(change: RunChange, redact: Redact, sealKey: string | undefined): RunChange {
  if (change.input === undefined) return change
  const input = redactFields(change.input, ['message', 'schema', 'toolCallId', 'args'], redact)
  return { ...change, input: sealKey === undefined ? input : { ...input, sealKey } }
}

/**
 * A store with some methods of its own. The others are called on the store itself, which may be a class with private fields.
 * @param own the methods that take the place of those of the store
 */
function override<T extends object>(store: T, own: Partial<T>): T {
  return new Proxy(own as T, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? (value.bind(store) as unknown) : value
    }
  })
}

/** A run whose stores are fenced. */
export interface FencedRun extends EnteringRun {
  readonly stores: Stores
  /** Pending while the record of the run is being stored, without which its lease cannot be checked. */
  readonly created: Promise<unknown> | undefined
  /** As in `HostedRun`. */
  readonly suspended: boolean
  /** True if an earlier process has executed it. */
  readonly resumed: boolean
  /** Its turn, which its runnable takes over. */
  readonly turn: RunTurn | undefined
  /** True once its turn is being saved. */
  turnSaved: boolean
  readonly ended: boolean
  /** Its turn is being saved, and nothing that it writes takes effect before. */
  savesTurn(saving: Promise<void>): void
  /** Pending while what it has said is saved as its turn: the turn must not end before. */
  readonly keeping: Promise<unknown> | undefined
}

/**
 * The stores of a run, which refuse what it writes after another process has leased it: turns, memories, files, and what browsers
 * and other services know of a session.
 * While it is suspended it keeps the turns of its sessions. It continues them after the turn that its caller named. With the turn of its own session it enters that one.
 * A port is wrapped when the run first uses it.
 */
export class FencedStores {
  readonly runs: Stores['runs']
  readonly log: Stores['log']
  readonly tasks: Stores['tasks']
  readonly checkpoints: Stores['checkpoints']
  readonly control: Stores['control']
  readonly sessionIndex: Stores['sessionIndex']
  readonly counters: Stores['counters']
  readonly queue: Stores['queue']
  readonly schedules: Stores['schedules']
  readonly webhooks: Stores['webhooks']
  readonly lease: Stores['lease']
  readonly #run: FencedRun
  #sessions: SessionStore | undefined
  #memory: MemoryStore | undefined
  #files: Stores['files']
  #browserStates: Stores['browserStates']
  #remoteSessions: Stores['remoteSessions']

  constructor(run: FencedRun) {
    const { stores } = run
    ;({ runs: this.runs, log: this.log, tasks: this.tasks, checkpoints: this.checkpoints } = stores)
    ;({ control: this.control, sessionIndex: this.sessionIndex, counters: this.counters } = stores)
    ;({ queue: this.queue, schedules: this.schedules, webhooks: this.webhooks, lease: this.lease } = stores)
    this.#run = run
  }

  get sessions(): SessionStore {
    return (this.#sessions ??= new FencedSessions(this.#run))
  }

  get memory(): MemoryStore {
    const { memory } = this.#run.stores
    return (this.#memory ??= override(memory, {
      put: (item) => write(this.#run, (fence) => memory.put(item, fence)),
      ...(memory.embed && { embed: (item) => write(this.#run, (fence) => memory.embed!(item, fence)) })
    }))
  }

  get files(): Stores['files'] {
    const { files } = this.#run.stores
    return (this.#files ??=
      files &&
      override(files, {
        put: (runId, file) => write(this.#run, (fence) => files.put(runId, file, fence))
      }))
  }

  get browserStates(): Stores['browserStates'] {
    const { browserStates } = this.#run.stores
    return (this.#browserStates ??=
      browserStates &&
      override(browserStates, {
        save: (key, state) => write(this.#run, (fence) => browserStates.save(key, state, fence))
      }))
  }

  get remoteSessions(): Stores['remoteSessions'] {
    const { remoteSessions } = this.#run.stores
    return (this.#remoteSessions ??=
      remoteSessions &&
      override(remoteSessions, {
        save: (key, remote, session) =>
          write(this.#run, (fence) => remoteSessions.save(key, remote, session, fence))
      }))
  }
}

/** Writes in the name of a run, once its record is stored. */
function write<T>({ created, record }: FencedRun, act: (fence: RunFence) => Awaitable<T>): Awaitable<T> {
  const { runId, epoch } = record
  const fence = { runId, epoch }
  return created === undefined ? act(fence) : created.then(() => act(fence))
}

// A class, since every run of an agent calls it several times.
class FencedSessions implements SessionStore {
  readonly #sessions: SessionStore
  readonly #run: FencedRun
  #hasEntered: boolean
  // Pending while it enters its session.
  #entering: Promise<void> | undefined

  constructor(run: FencedRun) {
    this.#sessions = run.stores.sessions
    this.#run = run
    this.#hasEntered = run.turn?.placed.entered === true
  }

  append(key: SessionKey, turnId: string, messages: readonly SessionMessage[]): Awaitable<void> {
    const run = this.#run
    if (turnId === run.record.runId) {
      // A later message has decided what stays of this turn.
      if (run.record.leftTurn !== null) return
      run.turnSaved = true
    }
    const from = continuationIn(run, key)
    const append = () => write(run, (fence) => this.#sessions.append(key, turnId, messages, fence, from))
    if (this.#entering !== undefined) return this.#entering.then(append)
    const isCreated = run.created === undefined
    const appended = append()
    // The place of a turn that does not follow the newest one is read first.
    const isInOrder = this.#sessions.ordersWrites === true && from === undefined && isCreated
    if (!isPromise(appended) || !isInOrder || turnId !== run.record.runId || run.ended) return appended
    run.savesTurn(appended)
  }

  load(
    key: SessionKey,
    maxMessages: number,
    _from?: undefined,
    _turnId?: undefined,
    bounds?: HistoryBounds
  ): Awaitable<SessionMessage[]> {
    const { record, resumed } = this.#run
    // An earlier process may have saved the turn, and died before the run had ended.
    const own = resumed ? record.runId : undefined
    return this.#sessions.load(key, maxMessages, continuationIn(this.#run, key), own, bounds)
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
      if (holder === this.#run.record.runId && !this.#hasEntered) this.#enter(key)
      return () => {
        const { keeping } = this.#run
        if (keeping === undefined) end(this.#run.suspended)
        else void keeping.then(() => end(this.#run.suspended))
      }
    }
    const locked = this.#run.turn?.claim(key, holder) ?? this.#sessions.lock(key, signal, holder, onPlace)
    return andThen(locked, keepsTurn)
  }

  // The creation of the run precedes this write, which no step waits for: only the turn, when it is saved.
  #enter(key: SessionKey): void {
    this.#hasEntered = true
    const { stores, record } = this.#run
    const entering = stores.sessionIndex?.enter(key, record.runId)
    if (!isPromise(entering)) return
    this.#entering = entering
    entering.then(
      () => (this.#entering = undefined),
      () => {}
    )
  }
}
