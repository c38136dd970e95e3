import { sleepUntil, timeOf, type InputOutcome, type YieldedPart } from '@svc/contract'
import type { AskedInput, Asker } from './inputs/asked-input.ts'
import { RunInputs, type InputHost } from './inputs/run-inputs.ts'
import type { DormantWait, Earlier } from './run-host.ts'
import { StepJournal, type JournalHost } from './journal/step-journal.ts'

// Milliseconds without activity before a run counts as dormant: one that was loaded to wait, and one whose answer may come soon.
const GRACE = 25
const FIRST_GRACE = 1_000
// A shorter wait is not worth unloading the run for.
const MIN_DORMANCY = 1_000

/** The parts of a run that its waits need. */
export interface WaitsHost extends InputHost, JournalHost {
  readonly stores: JournalHost['stores']
}

/** The waits of a run: for inputs, times and steps in progress. */
export class RunWaits {
  readonly #host: WaitsHost
  readonly #inputs: RunInputs
  readonly #sleeps = new Set<{ until: number }>()
  readonly #earlier: Earlier | undefined
  #journal: StepJournal | undefined
  #onDormant: ((wait: DormantWait) => void) | undefined
  readonly #grace: number
  #timer: NodeJS.Timeout | undefined

  constructor(host: WaitsHost, earlier?: Earlier) {
    this.#host = host
    this.#earlier = earlier
    this.#grace = earlier === undefined ? FIRST_GRACE : GRACE
    this.#inputs = new RunInputs(host, earlier?.record.inputs)
  }

  /** Restores the inputs of an earlier process; `answered` are those whose answer is in the log. */
  resume(answered: ReadonlySet<string>): void {
    this.#inputs.resume(answered)
  }

  /**
   * Calls back when the run only waits for durable inputs and times, none of them within a second.
   */
  onDormant(callback: (wait: DormantWait) => void): void {
    this.#onDormant = callback
    this.#look()
  }

  ask(asked: AskedInput, asker: Asker): Promise<InputOutcome> {
    const outcome = this.#inputs.ask(asked, asker)
    this.#look()
    return outcome
  }

  get waitedMs(): number {
    return this.#inputs.waitedMs
  }

  /** @throws RUN_ERR_LOG_LIMIT if the answer does not fit into the log */
  answered(inputId: string, outcome: InputOutcome): void {
    this.#inputs.answered(inputId, outcome)
  }

  /** The journal of the run's steps. */
  get journal(): StepJournal {
    this.#journal ??= new StepJournal(this.#host, this.#earlier?.log, () => this.#look())
    return this.#journal
  }

  async sleep(until: number, signal: AbortSignal): Promise<void> {
    const sleep = { until }
    this.#sleeps.add(sleep)
    this.#look()
    try {
      await sleepUntil(until, signal, () => timeOf(this.#host.stores))
    } finally {
      this.#sleeps.delete(sleep)
      this.#look()
    }
  }

  /** Takes a part of a resumed run: the end of a tool call withdraws what only the earlier process asked for it. */
  take(part: YieldedPart): void {
    if (part.type === 'tool.result' || part.type === 'tool.error') this.#inputs.callEnded(part)
  }

  /** Rejects all waits, since the run has ended. */
  abandon(reason: unknown): void {
    this.#onDormant = undefined
    clearTimeout(this.#timer)
    this.#inputs.abandon(reason)
  }

  // Whatever a step or an answer triggers starts within the grace period.
  #look(): void {
    if (this.#onDormant === undefined) return
    clearTimeout(this.#timer)
    if (this.#dormantUntil === undefined) return
    this.#timer = setTimeout(() => {
      const until = this.#dormantUntil
      if (until === undefined) return
      if (this.#host.writer.idle() !== undefined) this.#look()
      else this.#onDormant?.({ until, inputIds: this.#inputs.pending })
    }, this.#grace).unref()
  }

  // Undefined while the run is active, or will be soon.
  get #dormantUntil(): number | undefined {
    if (this.#inputs.pending.length === 0 && this.#sleeps.size === 0) return undefined
    const inputs = this.#inputs.dormantUntil
    if (inputs === undefined || this.#journal?.idle === false) return undefined
    const until = Math.min(inputs, ...Array.from(this.#sleeps, (sleep) => sleep.until))
    return until === Infinity || until < timeOf(this.#host.stores) + MIN_DORMANCY ? undefined : until
  }
}
