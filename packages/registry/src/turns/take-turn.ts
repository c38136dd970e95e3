import {
  defined,
  isPromise,
  type Awaitable,
  type StoredRun,
  type Stores,
  type TurnPlace
} from '@svc/contract'
import type { PartWriter } from '../engine/log/part-writer.ts'
import type { SessionNotices, TransientPart, TransientParts } from '../engine/log/log-reader.ts'
import type { RunTurn } from '../engine/place-run.ts'
import type { CountedRun, RunHost } from '../engine/run-host.ts'

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
