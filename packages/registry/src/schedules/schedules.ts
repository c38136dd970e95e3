import {
  ANONYMOUS,
  defined,
  randomId,
  timeOf,
  toLoggable,
  type Awaitable,
  type RunInput,
  type Runnable,
  type RunnableKey,
  type Schedule,
  type SchedulePlan,
  type ScheduleQuery,
  type ScheduleStore,
  type SessionSettings,
  type StoredSchedule
} from '@svc/contract'
import {
  RUN_ERR_SCHEDULE_CHANGED,
  RUN_ERR_SCHEDULE_NO_RUNNABLE,
  RUN_ERR_SCHEDULE_NOT_FOUND,
  RUN_ERR_SCHEDULE_PAST,
  RUN_ERR_SCHEDULES_NOT_KEPT
} from '@svc/contract/errors'
import type { StartOptions } from '../engine/start-options.ts'
import { ENGINE_DEFAULTS } from '../options.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { fireSchedule, toStartOptions, type ScheduleHost } from './fire-schedule.ts'
import {
  changeTiming,
  nextInstant,
  requireChange,
  toSchedule,
  type CheckedChange,
  type GivenChange
} from './schedule-plan.ts'

// Milliseconds between two looks: clocks are set, and wake-ups get lost. Other processes may also create schedules.
const LOOK_EVERY = 60_000
const LOOK_EVERY_SHARED = 10_000
// Milliseconds until a look that failed is repeated.
const RETRY_AFTER = 5_000
// Milliseconds between two searches for schedules without a runnable.
const MARK_EVERY = 60_000
// Schedules per query.
const BATCH = 100

/** Fires the schedules of the runnables of this process when they are due. */
class DueSchedules {
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
    this.#unsubscribe = this.#schedules.onPlanned?.(() => void this.look())
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
      // Some process must begin their runs.
      queued.serve()
      if (next <= timeOf(stores)) {
        if (!(await this.#fireDue(runnables))) return RETRY_AFTER
        next = await this.#schedules.nextAt(runnables)
      }
      if (next === undefined) return longest
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
      let isFirst = true
      for (const schedule of stores.lease === undefined ? due : shuffle(due)) {
        if (closing.aborted || stores.lease?.held === false) return false
        try {
          isFirst = await fireSchedule(this.#host, this.#schedules, schedule, now)
          // Other processes fire them too: what they leave is listed again.
          if (!isFirst) break
        } catch (err) {
          if (isReported(err)) throw err
          const { scheduleId } = schedule
          log.error({ err: toLoggable(err), scheduleId }, 'a schedule could not be fired yet')
          isLeft = true
        }
      }
      if (isLeft) return false
      if (isFirst && due.length < BATCH) return true
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

// So that processes that wake at the same instant seldom fire the same schedule.
function shuffle(due: readonly StoredSchedule[]): StoredSchedule[] {
  return due
    .map((schedule) => ({ schedule, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ schedule }) => schedule)
}

// A schedule seldom fires while it is changed.
const ATTEMPTS = 10

/**
 * A new schedule: when it fires, and what its runs start with. One of `cron` and `at` is required; a date stands for its instant. With null
 * as `cron` it never fires by itself.
 */
export type NewScheduleOptions = GivenChange & { input: RunInput }

/** Who creates a schedule: the runs belong to the principal, and the policy of the surface is asked each time that it fires. */
export type ScheduleOptions = Pick<
  StartOptions,
  'principal' | 'registry' | 'surface' | 'authorize' | 'apiKey' | 'redact'
> & {
  /** What a wire keeps with it, by its name. */
  readonly settings?: SessionSettings | undefined
}

/** Who changes a schedule, and what a wire keeps with it from then on. */
export interface ScheduleChangeOptions extends Pick<ScheduleOptions, 'principal'> {
  /** Makes the new settings of those before; called again if the schedule has changed meanwhile. Default: they stay. */
  readonly settings?: ((before: SessionSettings) => SessionSettings) | undefined
}

/** A schedule, and what decides who reaches it. */
export interface OwnedSchedule extends Schedule {
  readonly owner: string
  /** The id of the runnable's registry. */
  readonly registry: string
  /** When its only instant was over, or it was ended; ISO 8601 in UTC. */
  readonly endedAt?: string
  /** What wires keep with it, by their names. */
  readonly settings: SessionSettings
}

/** One page of schedules; `nextCursor` is null on the last page. */
export interface OwnedSchedulePage {
  readonly schedules: readonly OwnedSchedule[]
  readonly nextCursor: string | null
}

/** Settings of an engine's schedules. */
interface Settings {
  readonly maxPerOwner?: number | undefined
  /** Milliseconds that a schedule waits for its runnable before this counts as an error. */
  readonly patience: number
}

/** Runs at given times: `fastify.schedules`. A run of a schedule is a queued run, which any process with its runnable begins. */
export class Schedules {
  readonly #host: ScheduleHost
  readonly #store: ScheduleStore | undefined
  readonly #maxPerOwner: number
  readonly #due: DueSchedules | undefined

  constructor(host: ScheduleHost, { maxPerOwner, patience }: Settings) {
    this.#host = host
    const { queue, schedules } = host.stores
    this.#store = queue && schedules
    this.#maxPerOwner = maxPerOwner ?? ENGINE_DEFAULTS.maxSchedulesPerOwner
    this.#due = this.#store && new DueSchedules(host, this.#store, patience)
  }

  /**
   * Creates a schedule of a runnable, whose runs any process must be able to resume. The input is checked as that of a run.
   * @throws RUN_ERR_BAD_SCHEDULE, RUN_ERR_SCHEDULE_CRON, RUN_ERR_SCHEDULE_NEVER, RUN_ERR_SCHEDULE_TOO_OFTEN, RUN_ERR_SCHEDULE_TIME_ZONE,
   * RUN_ERR_SCHEDULE_PAST, RUN_ERR_SCHEDULE_BINARY, RUN_ERR_BAD_INPUT, RUN_ERR_NOT_QUEUEABLE, RUN_ERR_TOO_MANY_SCHEDULES,
   * RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE
   */
  async create(
    runnable: Runnable,
    given: NewScheduleOptions,
    options: ScheduleOptions = {}
  ): Promise<OwnedSchedule> {
    const { surfaces, interrupted, stores } = this.#host
    const store = this.#require()
    const change = requireChange(given)
    const now = timeOf(stores)
    const { principal = ANONYMOUS, surface, authorize } = options
    const policy = surface === undefined ? undefined : surfaces.policyOf(surface)
    const plan: SchedulePlan = {
      ...changeTiming(undefined, change, now),
      input: change.input,
      sessionId: change.sessionId ?? null,
      ...defined({ whenBusy: change.whenBusy }),
      metadata: metadataOf(change.metadata),
      catchUp: change.catchUp ?? 'last',
      enabled: change.enabled ?? true,
      principal,
      surface: surface ?? null,
      guarded: policy?.isOwn ?? authorize !== undefined,
      ...defined({ settings: options.settings })
    }
    const { kind, name } = runnable
    const registry = options.registry ?? surfaces.registryOf(runnable)
    const schedule: StoredSchedule = {
      scheduleId: randomId(),
      registry,
      kind,
      name,
      owner: principal.sub,
      createdAt: now,
      updatedAt: now,
      revision: 1,
      plan,
      nextAt: plan.enabled ? nextInstant(plan, now) : null,
      endedAt: null,
      lastAt: null,
      lastRunId: null,
      lastError: null
    }
    this.#requireStart(runnable, schedule, options)
    await store.create(schedule, this.#maxPerOwner)
    if (!interrupted.knows(schedule)) interrupted.know(runnable, registry)
    this.#look()
    return toOwned(schedule)
  }

  /** False if the stores keep no schedules: every call is refused then. */
  get areKept(): boolean {
    return this.#store !== undefined
  }

  /** Undefined if there is none. @throws RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE */
  async get(scheduleId: string): Promise<OwnedSchedule | undefined> {
    const stored = await this.#require().get(scheduleId)
    return stored && toOwned(stored)
  }

  /** Newest first. @throws REG_ERR_BAD_CURSOR, RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE */
  async list(query: ScheduleQuery): Promise<OwnedSchedulePage> {
    const { schedules, nextCursor } = await this.#require().list(query)
    return { schedules: schedules.map(toOwned), nextCursor }
  }

  /**
   * Changes a schedule. A new `cron` or `at`, or enabling it again, begins with the first instant from now on.
   * @param principal the caller; if it is the owner, later runs have its scopes
   * @throws RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_SCHEDULE_NO_RUNNABLE if the input is changed and the runnable is not known here,
   * RUN_ERR_SCHEDULE_CHANGED, and the errors of `create`
   */
  async update(
    scheduleId: string,
    given: GivenChange,
    { principal, settings }: ScheduleChangeOptions = {}
  ): Promise<OwnedSchedule> {
    const change = requireChange(given)
    return this.#change(scheduleId, async (earlier, now) => {
      const schedule = changed(earlier, change, { principal, settings }, now)
      if ('input' in change || 'metadata' in change) {
        const runnable = await this.#host.interrupted.find(schedule)
        if (runnable === undefined) throw new RUN_ERR_SCHEDULE_NO_RUNNABLE(schedule.kind, schedule.name)
        this.#requireStart(runnable, schedule)
      }
      return schedule
    })
  }

  /**
   * Ends a schedule, which then fires no more, counts no more among those of its owner, and is kept as long as finished runs are. One that has
   * ended stays as it is.
   * @throws RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_SCHEDULE_CHANGED, RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE
   */
  async end(scheduleId: string): Promise<OwnedSchedule> {
    return this.#change(scheduleId, (earlier, now) => {
      if (earlier.endedAt !== null) return undefined
      const { revision, plan } = earlier
      const over = { plan: { ...plan, enabled: false }, nextAt: null, endedAt: now }
      return { ...earlier, ...over, updatedAt: now, revision: revision + 1 }
    })
  }

  /** False if there is none. Runs that it has queued stay. @throws RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE */
  async remove(scheduleId: string): Promise<boolean> {
    return this.#require().remove(scheduleId)
  }

  /** Fires what is due from now on; the engine calls it at its start. */
  begin(): void {
    this.#due?.begin()
  }

  /** A runnable is known; the engine calls it. */
  known(): void {
    void this.#due?.look()
  }

  /** Resolves when none is being fired; the engine calls it when it closes. */
  async idle(): Promise<void> {
    await this.#due?.idle()
  }

  #look(): void {
    this.#due!.begin()
    void this.#due!.look()
  }

  // `make` returns undefined where nothing changes.
  async #change(
    scheduleId: string,
    make: (earlier: StoredSchedule, now: number) => Awaitable<StoredSchedule | undefined>
  ): Promise<OwnedSchedule> {
    const store = this.#require()
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const earlier = await store.get(scheduleId)
      if (earlier === undefined) throw new RUN_ERR_SCHEDULE_NOT_FOUND(scheduleId)
      const schedule = await make(earlier, timeOf(this.#host.stores))
      if (schedule === undefined) return toOwned(earlier)
      if (!(await store.change(schedule, this.#maxPerOwner))) continue
      this.#look()
      return toOwned(schedule)
    }
    throw new RUN_ERR_SCHEDULE_CHANGED()
  }

  #require(): ScheduleStore {
    if (this.#store === undefined) throw new RUN_ERR_SCHEDULES_NOT_KEPT()
    return this.#store
  }

  // As if it fired now.
  #requireStart(
    runnable: Runnable,
    schedule: StoredSchedule,
    { apiKey, redact }: ScheduleOptions = {}
  ): void {
    const options = { ...toStartOptions(this.#host, schedule, schedule.updatedAt), apiKey, redact }
    this.#host.queued.prepare(runnable, schedule.plan.input, options)
  }
}

function changed(
  earlier: StoredSchedule,
  change: CheckedChange,
  { principal, settings: toSettings }: ScheduleChangeOptions,
  now: number
): StoredSchedule {
  const { plan, owner } = earlier
  const timing = changeTiming(plan, change, now)
  const { input = plan.input, sessionId = plan.sessionId, catchUp = plan.catchUp } = change
  const { metadata, whenBusy = plan.whenBusy, enabled = plan.enabled } = change
  const settings = toSettings?.(plan.settings ?? {})
  const next: SchedulePlan = {
    ...plan,
    cron: timing.cron,
    timeZone: timing.timeZone,
    at: timing.at,
    input,
    sessionId,
    ...(whenBusy !== undefined && { whenBusy }),
    metadata: metadata === undefined ? plan.metadata : metadataOf(metadata),
    catchUp,
    enabled,
    ...(principal?.sub === owner && { principal }),
    ...(settings !== undefined && { settings })
  }
  const isTimed = timing !== plan || (enabled && !plan.enabled)
  const nextAt = isTimed ? nextInstant(next, now) : earlier.nextAt
  if (isTimed && enabled && nextAt === null && next.at !== null)
    throw new RUN_ERR_SCHEDULE_PAST(new Date(next.at).toISOString())
  return {
    ...earlier,
    plan: next,
    revision: earlier.revision + 1,
    updatedAt: now,
    nextAt: enabled ? nextAt : null,
    endedAt: isTimed || (!enabled && plan.enabled) ? null : earlier.endedAt,
    lastError: null
  }
}

function metadataOf(metadata: SchedulePlan['metadata'] | undefined): SchedulePlan['metadata'] {
  return Object.keys(metadata ?? {}).length === 0 ? null : metadata!
}

function toOwned(stored: StoredSchedule): OwnedSchedule {
  const { owner, registry, endedAt, plan } = stored
  const ended = endedAt === null ? {} : { endedAt: new Date(endedAt).toISOString() }
  return { ...toSchedule(stored), owner, registry, ...ended, settings: plan.settings ?? {} }
}
