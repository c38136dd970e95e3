import {
  RUN_ERR_SCHEDULE_NO_RUNNABLE,
  timeOf,
  toLoggable,
  type RunnableKey,
  type ScheduleStore
} from '@svc/contract'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { fireSchedule } from './fire-schedule.ts'
import type { ScheduleHost } from './schedule-host.ts'

// Milliseconds between two looks: clocks are set, and wake-ups get lost. Other processes may also create schedules.
const LOOK_EVERY = 60_000
const LOOK_EVERY_SHARED = 5_000
// Milliseconds until a look that failed is repeated.
const RETRY_AFTER = 5_000
// Milliseconds between two searches for schedules without a runnable.
const MARK_EVERY = 60_000
// Schedules per query.
const BATCH = 100

/** Fires the schedules of the runnables of this process when they are due. */
export class DueSchedules {
  readonly #host: ScheduleHost
  readonly #schedules: ScheduleStore
  readonly #patience: number
  #begunAt: number | undefined
  #markedAt = -Infinity
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isAsked = false

  /** @param patience milliseconds that a schedule waits for its runnable before this is recorded as its error */
  constructor(host: ScheduleHost, schedules: ScheduleStore, patience: number) {
    this.#host = host
    this.#schedules = schedules
    this.#patience = patience
    host.closing.addEventListener('abort', () => this.#stop(), { once: true })
  }

  /** Begins to fire; a second call does nothing. */
  begin(): void {
    if (this.#begunAt !== undefined || this.#host.closing.aborted) return
    this.#begunAt = performance.now()
    this.#unsubscribe = this.#schedules.onDue?.(() => this.look())
    void this.look()
  }

  /** Looks for schedules that are due, if it has begun; resolves when they are fired. Does not reject. */
  look(): Promise<void> {
    if (this.#begunAt === undefined || this.#host.closing.aborted) return this.idle()
    this.#isAsked = true
    return (this.#looking ??= this.#work())
  }

  /** Resolves when none is being fired. */
  async idle(): Promise<void> {
    await this.#looking
  }

  #stop(): void {
    this.#unsubscribe?.()
    clearTimeout(this.#timer)
  }

  async #work(): Promise<void> {
    clearTimeout(this.#timer)
    const { closing } = this.#host
    let delay = RETRY_AFTER
    while (this.#isAsked && !closing.aborted) {
      this.#isAsked = false
      delay = await this.#lookOnce()
    }
    this.#looking = undefined
    if (!closing.aborted) this.#timer = setTimeout(() => void this.look(), delay).unref()
  }

  // Returns the milliseconds until the next look.
  async #lookOnce(): Promise<number> {
    const { stores, log, interrupted, queued } = this.#host
    const { lease } = stores
    const longest = lease === undefined ? LOOK_EVERY : LOOK_EVERY_SHARED
    try {
      if (lease?.held === false) return longest
      await this.#markOverdue()
      const runnables = interrupted.known
      let next = await this.#schedules.nextAt(runnables)
      if (next === undefined) return longest
      // Wake-ups reach those who begin queued runs.
      queued.serve()
      if (next <= timeOf(stores)) {
        if (!(await this.#fireDue(runnables))) return RETRY_AFTER
        next = await this.#schedules.nextAt(runnables)
      }
      const isWoken = this.#schedules.onDue !== undefined
      if (isWoken || next === undefined) return longest
      return Math.min(Math.max(next - timeOf(stores), 1), longest)
    } catch (err) {
      if (!isReported(err)) log.error({ err: toLoggable(err) }, 'schedules cannot be fired yet')
      return RETRY_AFTER
    }
  }

  // False if some are still due.
  async #fireDue(runnables: readonly RunnableKey[]): Promise<boolean> {
    const { stores, closing, log } = this.#host
    for (;;) {
      const now = timeOf(stores)
      const due = await this.#schedules.listDue({ runnables, now, limit: BATCH })
      let isLeft = false
      for (const schedule of due) {
        if (closing.aborted || stores.lease?.held === false) return false
        try {
          await fireSchedule(this.#host, this.#schedules, schedule, now)
        } catch (err) {
          if (isReported(err)) throw err
          const { scheduleId } = schedule
          log.error({ err: toLoggable(err), scheduleId }, 'a schedule could not be fired yet')
          isLeft = true
        }
      }
      if (isLeft) return false
      if (due.length < BATCH) return true
    }
  }

  // Runnables of an app that has just started may follow.
  async #markOverdue(): Promise<void> {
    const now = performance.now()
    if (now - this.#begunAt! < this.#patience || now - this.#markedAt < MARK_EVERY) return
    this.#markedAt = now
    const { code } = new RUN_ERR_SCHEDULE_NO_RUNNABLE('', '')
    await this.#schedules.markOverdue(timeOf(this.#host.stores) - this.#patience, code)
  }
}
