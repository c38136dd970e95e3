import type { RunnableKind } from '@svc/contract'
import { signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { followStream, isEnd, type StreamState } from '../api/event-stream.ts'
import {
  cancelRun,
  getSession,
  runStream,
  sessionStream,
  startRun,
  type NewRun,
  type SessionRef
} from '../api/resources.ts'
import { randomId } from './draft.ts'
import { RunModel } from './run-model.ts'
import type { StreamedPart } from './run-items.ts'
import { toTurns, type SavedTurn } from './saved-turns.ts'

/** How a message goes out. */
export type SendOptions = Pick<NewRun, 'whenBusy' | 'afterTurn' | 'files'>

/** A message that the service has not accepted yet, or has refused. */
export interface Sending {
  readonly id: string
  readonly input: unknown
  readonly options: SendOptions
  readonly error: unknown
}

/** Messages of a page. */
const PAGE = 40

/**
 * A session as a view shows it: its saved turns, and the runs since then as they come, from whatever client they are. It follows the channel
 * of the session, so that two tabs show the same.
 */
export class Conversation {
  readonly ref: SessionRef
  readonly saved = signal<readonly SavedTurn[]>([])
  readonly runs = signal<readonly RunModel[]>([])
  readonly sending = signal<readonly Sending[]>([])
  readonly stream = signal<StreamState | undefined>(undefined)
  readonly title = signal<string | undefined>(undefined)
  /** Messages were edited: there are others than those that are shown. */
  readonly hasBranches = signal(false)
  /** Leads to older messages; null if there are none. */
  readonly older = signal<string | null>(null)
  readonly state = signal<'loading' | 'ready'>('loading')
  readonly fault = signal<unknown>(undefined)
  readonly #abort = new AbortController()
  #isFollowing = false
  #isKept = false
  #ownRuns: AbortController | undefined

  constructor(kind: RunnableKind, name: string, sessionId: string) {
    this.ref = { kind, name, sessionId }
  }

  /** Loads the newest messages and follows what comes; a session that does not exist yet is empty. */
  async open(isNew: boolean): Promise<void> {
    try {
      if (isNew) return
      const session = await getSession(this.ref, { limit: PAGE }, this.#abort)
      this.saved.value = toTurns(session.messages)
      this.older.value = session.nextCursor
      this.title.value = session.title
      this.hasBranches.value = session.branches.length > 0
      this.#follow(session.lastEventId)
    } catch (err) {
      if (err instanceof ApiError && err.status === 404) return
      if (!this.#abort.signal.aborted) this.fault.value = err
    } finally {
      this.state.value = 'ready'
    }
  }

  /** Adds older messages before those that are shown. @throws ApiError */
  async loadOlder(): Promise<void> {
    const before = this.older.value
    if (before === null) return
    const session = await getSession(this.ref, { limit: PAGE, before }, this.#abort)
    this.older.value = session.nextCursor
    const older = toTurns(session.messages)
    const [first, ...rest] = this.saved.value
    const last = older.at(-1)
    // A page may begin in the middle of a turn.
    this.saved.value =
      first !== undefined && last?.runId === first.runId
        ? [
            ...older.slice(0, -1),
            { runId: first.runId, messages: [...last.messages, ...first.messages] },
            ...rest
          ]
        : [...older, ...this.saved.value]
  }

  /** Sends a message; while it fails for a passing reason it stays, to be sent again. */
  async send(input: unknown, options: SendOptions = {}, id = randomId()): Promise<void> {
    this.sending.value = [...this.#othersThan(id), { id, input, options, error: undefined }]
    try {
      const { sessionId } = this.ref
      const record = await startRun(this.ref, { input, sessionId, ...options }, id)
      this.sending.value = this.#othersThan(id)
      if (record.joined !== true) {
        const run = this.#runOf(record.runId)
        run.asked = { input, files: options.files }
        run.noteStatus(record.status)
        this.#divide(run, options.afterTurn)
      }
      this.#follow('0.0')
    } catch (error) {
      this.sending.value = [...this.#othersThan(id), { id, input, options, error }]
    }
  }

  /**
   * The turn before that of a run, after which a message in its place continues; null at the beginning. Undefined if the service keeps no
   * session: then there are no branches.
   */
  turnBefore(runId: string): string | null | undefined {
    if (!this.#isKept) return undefined
    const kept = this.runs.value.filter((run) => run.runId === runId || run.status === 'completed')
    const turns = [...this.saved.value, ...kept].map((turn) => turn.runId)
    return turns[turns.indexOf(runId) - 1] ?? null
  }

  /** Follows a call that has begun. */
  join(runId: string): void {
    this.#runOf(runId).isCall = true
    this.#follow('0.0')
  }

  /** Gives up a message that was refused. */
  discard(id: string): void {
    this.sending.value = this.#othersThan(id)
  }

  /** Cancels the run under way, if there is one. @throws ApiError */
  async stop(): Promise<void> {
    const run = this.active
    if (run !== undefined) await cancelRun(run.runId)
  }

  /** The run under way. */
  get active(): RunModel | undefined {
    return this.runs.value.find((run) => !run.isOver)
  }

  /** Nothing was said in it yet. */
  get isEmpty(): boolean {
    return this.saved.value.length + this.runs.value.length + this.sending.value.length === 0
  }

  close(): void {
    this.#abort.abort()
  }

  #othersThan(id: string): Sending[] {
    return this.sending.value.filter((each) => each.id !== id)
  }

  #follow(after: string): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    let isMissing = false
    const follow = followStream(
      sessionStream(this.ref),
      {
        onParts: (parts) => this.#push(parts),
        onState: (state) => {
          if (state.is === 'open') {
            isMissing = false
            this.#isKept = true
            this.#ownRuns?.abort()
          }
          if (state.is === 'failed') this.#isFollowing = false
          if (!isMissing) this.stream.value = state
        },
        // The session appears with the turn of its first run; runs that take no turns never have one.
        isPassing: ({ status }) => {
          isMissing = status === 404
          if (isMissing) this.#followOwnRuns()
          return isMissing && this.active !== undefined
        }
      },
      this.#abort.signal,
      after
    )
    follow.catch((err: unknown) => (this.fault.value = err))
  }

  // Follows each run by itself, until the session is there.
  #followOwnRuns(): void {
    this.#ownRuns?.abort()
    this.#ownRuns = new AbortController()
    const abort = AbortSignal.any([this.#ownRuns.signal, this.#abort.signal])
    for (const run of this.runs.value.filter((each) => !each.isOver || each.lastSeq === 0)) {
      const follow = followStream(
        runStream(run.runId),
        {
          onParts: (parts) => run.push(parts),
          onState: (state) => (this.stream.value = state),
          isLast: isEnd
        },
        abort,
        run.lastSeq > 0 ? String(run.lastSeq) : undefined
      )
      follow.catch((err: unknown) => (this.fault.value = err))
    }
  }

  #push(parts: readonly StreamedPart[]): void {
    const byRun = new Map<string, StreamedPart[]>()
    for (const part of parts) {
      if (part.runId === undefined) continue
      const known = byRun.get(part.runId)
      if (known === undefined) byRun.set(part.runId, [part])
      else known.push(part)
    }
    for (const [runId, own] of byRun) {
      const run = this.#runOf(runId)
      const wasStarted = run.start !== undefined
      run.push(own)
      if (!wasStarted) this.#divide(run, run.start?.afterTurn)
    }
  }

  #runOf(runId: string): RunModel {
    const known = this.runs.value.find((run) => run.runId === runId)
    if (known !== undefined) return known
    const run = new RunModel(runId)
    this.runs.value = [...this.runs.value, run]
    return run
  }

  // Takes away what is not on the branch of a run that continues after an earlier turn.
  #divide(run: RunModel, after: string | null | undefined): void {
    if (after === undefined) return
    const at = this.runs.value.indexOf(run)
    const runs = this.runs.value.slice(0, at)
    const later = this.runs.value.slice(at)
    const turn = this.saved.value.findIndex(({ runId }) => runId === after)
    const live = runs.findIndex(({ runId }) => runId === after)
    if (live === -1) {
      this.hasBranches.value ||= turn < this.saved.value.length - 1 || runs.length > 0
      this.saved.value = this.saved.value.slice(0, turn + 1)
      // The turn may be among the older messages, which are still to be loaded.
      if (after === null) this.older.value = null
    } else this.hasBranches.value ||= live < runs.length - 1
    this.runs.value = [...runs.slice(0, live + 1), ...later]
  }
}
