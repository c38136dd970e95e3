import {
  ANONYMOUS,
  defined,
  andThen,
  isPromise,
  sessionKeyText,
  WhenBusySchema,
  type Awaitable,
  type Continuation,
  type EndTurn,
  type PlacedTurn,
  type Runnable,
  type RunSummary,
  type SessionKey,
  type SessionStore,
  type StoredRun,
  type Stores,
  type TurnPlace,
  type WhenBusy
} from '@svc/contract'
import { RUN_ERR_WHEN_BUSY } from '@svc/contract/errors'
import type { SessionNotices, TransientPart, TransientParts } from '../engine/log/log-reader.ts'
import type { PartWriter } from '../engine/log/part-writer.ts'
import type { CountedRun, RunHost } from '../engine/run-host.ts'
import type { StartOptions } from '../engine/start-options.ts'

const VALUES: readonly unknown[] = WhenBusySchema.anyOf.map((value) => value.const)

/**
 * What happens to a message while another run has the turn of its session.
 * @throws RUN_ERR_WHEN_BUSY for an unknown value, or one that cannot have an effect
 */
export function whenBusyOf(runnable: Runnable, { whenBusy, queue = runnable.queue }: StartOptions): WhenBusy {
  if (whenBusy !== undefined) {
    if (!VALUES.includes(whenBusy)) throw new RUN_ERR_WHEN_BUSY(`expected one of ${VALUES.join(', ')}`)
    if (runnable.takesTurns !== true)
      throw new RUN_ERR_WHEN_BUSY(
        `runs of the ${runnable.kind} "${runnable.name}" take no turns of a session`
      )
  }
  const value = whenBusy ?? runnable.whenBusy ?? 'queue'
  if (queue === true && value !== 'queue')
    throw new RUN_ERR_WHEN_BUSY(`"${value}" is not for runs that wait in the queue of the service`)
  return value
}

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
  #hasLeft = false
  #isKept = false
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
    const locked = this.#sessions.lock(this.#key, signal, this.#runId, (place) => {
      this.place = place
      onPlace(place)
    })
    const hold = (end: EndTurn) => {
      this.#end = end
      if (this.#hasLeft) end(this.#isKept)
    }
    return andThen(locked, hold)
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
    this.#isKept = keep
    if (this.#end !== undefined && !this.#isClaimed) this.#end(keep)
    this.placed.leave(keep)
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
  /** The turn that it takes before it executes; undefined if it takes none, or its runnable takes the first one of a new session. */
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

/** True if a run does not know yet whether it has the turn of its session. */
export function awaitsPlace({ sessions }: Stores, { runnable, options, turn }: PlacedRun): boolean {
  return (
    options.sessionId !== undefined &&
    runnable.takesTurns === true &&
    turn === undefined &&
    sessions.place !== undefined
  )
}

/**
 * Gives a run its place among the turns of its session. A new session has no other turns: its run gets a place where that costs no call of its
 * own. A run that takes none enters its session.
 * @param ifFree as in `SessionStore.place`
 */
export function placeRun(stores: Stores, run: PlacedRun, ifFree = false): Awaitable<PlacedTurn | undefined> {
  const { runnable, options, record } = run
  if (runnable.takesTurns !== true) {
    const entering = enterSession(stores, run)
    return isPromise(entering) ? entering.then(() => undefined) : undefined
  }
  const { sessions } = stores
  if (options.sessionId === undefined && sessions.placesNewRuns !== true) return undefined
  const key = sessionOf(run)
  const placed = sessions.place?.(key, record.runId, ifFree)
  if (placed === undefined) return undefined
  const keep = (place: PlacedTurn) => {
    const turn = new RunTurn(sessions, key, record.runId, place)
    if (place.position > 0) record.status = 'submitted'
    if (run.ended) turn.leave(run.suspended)
    else run.turn = turn
    return place
  }
  return andThen(placed, keep)
}

/** A run before its turn. */
interface WaitingRun extends CountedRun {
  beginWork(): Awaitable<void>
  readonly runId: string
  readonly record: Pick<StoredRun, 'status' | 'owner'>
  readonly writer: PartWriter
  readonly turn: RunTurn | undefined
  /** True if it was accepted while the session was busy. */
  readonly queued: boolean
  readonly resumed: boolean
  readonly lateSignal: { readonly signal: AbortSignal }
}

/** The parts of the engine that waiting runs need. */
interface WaitingHost extends Pick<RunHost, 'requireWait' | 'waits' | 'works'> {
  readonly stores: Stores
  readonly transients: TransientParts
  readonly sessionNotices: SessionNotices
}

// Milliseconds between two polls of what the run that has the turn waits for.
const POLL_INTERVAL = 1_000
const NEVER = new AbortController().signal

/** Waits for the turn of a run, with a notice of its place for its readers; then the run is working. @throws why the run has ended */
export function takeTurn(run: WaitingRun, host: WaitingHost): Awaitable<void> {
  const { turn } = run
  if (turn === undefined) return
  if (!run.queued && !run.resumed) return turn.take(NEVER, () => {})
  if (run.queued) host.requireWait(run)
  const notice = new QueueNotice(run, host, turn.sessionKey)
  const taking = turn.take(run.lateSignal.signal, (place) => notice.show(place))
  const work = () => {
    if (run.queued || run.record.status === 'submitted') run.writer.work()
    return run.beginWork()
  }
  if (!isPromise(taking)) return work()
  host.waits(run)
  const taken = () => {
    notice.end()
    host.works(run)
  }
  return taking.finally(taken).then(work)
}

/** The transient part that shows a queued run's place in the line of its session. */
class QueueNotice {
  readonly #run: WaitingRun
  readonly #host: WaitingHost
  readonly #sessionKey: string
  #place: TurnPlace | undefined
  #inputId: string | undefined
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false

  constructor(run: WaitingRun, host: WaitingHost, sessionKey: string) {
    this.#run = run
    this.#host = host
    this.#sessionKey = sessionKey
  }

  show(place: TurnPlace): void {
    if (this.#hasEnded) return
    const isNew = place.position !== this.#place?.position
    if (place.active !== this.#place?.active) this.#inputId = undefined
    this.#place = place
    if (isNew) this.#publish()
    this.#timer ??= setInterval(() => void this.#look(), POLL_INTERVAL).unref()
    void this.#look()
  }

  end(): void {
    this.#hasEnded = true
    clearInterval(this.#timer)
    this.#notify(undefined)
  }

  // The run that has the turn may wait for an input, without which this one cannot begin.
  async #look(): Promise<void> {
    const active = this.#place?.active
    if (active === undefined) return
    try {
      const { waiting } = (await this.#host.stores.runs.find(active)) ?? {}
      const inputId = [...(waiting?.approvals.first ?? []), ...(waiting?.inputs.first ?? [])][0]?.inputId
      if (this.#hasEnded || active !== this.#place?.active || inputId === this.#inputId) return
      this.#inputId = inputId
      this.#publish()
    } catch {
      // The next look may succeed.
    }
  }

  #publish(): void {
    const { position } = this.#place!
    const value = { position, ...defined({ inputId: this.#inputId }) }
    const notice = this.#run.writer.notice({ type: 'data', name: 'queue', value, transient: true })
    this.#notify(notice)
  }

  #notify(notice: TransientPart | undefined): void {
    const { transients, sessionNotices } = this.#host
    const { runId } = this.#run
    transients.notify(runId, notice)
    sessionNotices.notify(this.#sessionKey, runId, notice)
  }
}

/** Where the runs of this process are found. */
export interface KnownRuns {
  get(runId: string): { readonly turn: RunTurn | undefined } | undefined
}

/** The positions of runs that wait for the turn of their session: from this process, or from the tickets that all processes share. */
export class QueuePositions {
  readonly #live: KnownRuns
  readonly #sessions: SessionStore

  constructor(live: KnownRuns, sessions: SessionStore) {
    this.#live = live
    this.#sessions = sessions
  }

  /** The run with its position, if it waits. */
  async addTo(run: RunSummary): Promise<RunSummary> {
    return (await this.addToAll([run]))[0]!
  }

  /** The runs, those that wait with their positions. */
  async addToAll(runs: RunSummary[]): Promise<RunSummary[]> {
    const waiting = runs.filter(
      ({ status, queuePosition }) => status === 'submitted' && queuePosition === null
    )
    if (waiting.length === 0) return runs
    const places = new Map<string, TurnPlace>()
    const elsewhere: string[] = []
    for (const { runId } of waiting) {
      const place = this.#live.get(runId)?.turn?.place
      if (place === undefined) elsewhere.push(runId)
      else places.set(runId, place)
    }
    if (elsewhere.length > 0)
      for (const [runId, place] of (await this.#sessions.places?.(elsewhere)) ?? []) places.set(runId, place)
    return runs.map((run) => {
      const { position = 0 } = places.get(run.runId) ?? {}
      return position > 0 ? { ...run, queuePosition: position } : run
    })
  }
}
