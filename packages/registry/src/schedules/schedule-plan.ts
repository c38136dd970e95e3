import {
  checkOf,
  findFaults,
  formatFaults,
  ScheduleChangeSchema,
  type Fault,
  type Schedule,
  type ScheduleChange,
  type SchedulePlan,
  type StoredSchedule
} from '@svc/contract'
import {
  RUN_ERR_BAD_SCHEDULE,
  RUN_ERR_SCHEDULE_CRON,
  RUN_ERR_SCHEDULE_NEVER,
  RUN_ERR_SCHEDULE_PAST,
  RUN_ERR_SCHEDULE_TIME_ZONE,
  RUN_ERR_SCHEDULE_TOO_OFTEN
} from '@svc/contract/errors'
import { Cron, CronPattern } from 'croner'

const SECOND = 1_000
const MINUTE = 60_000
const MODE = '5-or-6-parts'

/**
 * The instants of a cron expression in a time zone, in milliseconds since the epoch. Where the zone changes its clocks, an expression that names
 * hours fires once: skipped times right after the change, repeated ones the first time. One that fires in every hour does so in each hour that
 * passes.
 */
export class CronTimes {
  readonly #cron: Cron

  /** @throws RUN_ERR_SCHEDULE_TIME_ZONE, RUN_ERR_SCHEDULE_CRON */
  constructor(expression: string, timeZone: string) {
    requireTimeZone(timeZone)
    // To croner such a text is an instant.
    if (expression.includes(':')) throw new RUN_ERR_SCHEDULE_CRON('it has a colon')
    try {
      const listed = listTimes(expression, timeZone)
      this.#cron = new Cron(listed, {
        timezone: timeZone,
        paused: true,
        mode: MODE,
        fixedTimeRule: 'no-wildcard'
      })
    } catch (err) {
      throw new RUN_ERR_SCHEDULE_CRON((err as Error).message.replace(/^Cron\w*: /, ''))
    }
  }

  /** The first instant after a time; undefined if there is none. */
  next(after: number): number | undefined {
    return this.#cron.nextRun(new Date(after))?.getTime()
  }

  /** The last instant at or before `until`. @param from an instant that is not later */
  last(from: number, until: number): number {
    const after = Math.floor(until / SECOND) * SECOND + SECOND
    const [last] = this.#cron.previousRuns(1, new Date(after))
    const at = last?.getTime() ?? from
    return at > from && at <= until ? at : from
  }
}

/**
 * Reads a new cron expression.
 * @throws RUN_ERR_SCHEDULE_TIME_ZONE, RUN_ERR_SCHEDULE_CRON, RUN_ERR_SCHEDULE_NEVER, RUN_ERR_SCHEDULE_TOO_OFTEN
 */
export function requireCron(expression: string, timeZone: string, now: number): CronTimes {
  const times = new CronTimes(expression, timeZone)
  const first = times.next(now)
  if (first === undefined) throw new RUN_ERR_SCHEDULE_NEVER(expression)
  // Of three instants in a row, two are in one minute if any are.
  const second = times.next(first)
  const third = second && times.next(second)
  if (isSoon(first, second) || isSoon(second, third)) throw new RUN_ERR_SCHEDULE_TOO_OFTEN(expression)
  return times
}

// To croner any `*` or step in a time of day means every hour.
function listTimes(expression: string, timeZone: string): string {
  const { second, minute, hour } = new CronPattern(expression, timeZone, { mode: MODE })
  const fields = expression.trim().split(/\s+/)
  // Nicknames, such as @daily.
  if (fields.length < 5) return expression
  const hours = hour.every(Boolean) ? '*' : listOf(hour)
  return [listOf(second), listOf(minute), hours, ...fields.slice(-3)].join(' ')
}

const listOf = (flags: readonly number[]) => flags.flatMap((flag, at) => (flag ? at : [])).join()

function isSoon(one: number | undefined, next: number | undefined): boolean {
  return one !== undefined && next !== undefined && next - one < MINUTE
}

function requireTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new RUN_ERR_SCHEDULE_TIME_ZONE(timeZone)
  }
}

/** A change by the app: a date stands for its instant, and without `cron`, null, it fires only when it is asked to. */
export type GivenChange = Omit<ScheduleChange, 'at' | 'cron'> & { at?: string | Date; cron?: string | null }

/** A change whose form is right. */
export type CheckedChange = Omit<ScheduleChange, 'cron'> & { cron?: string | null }

const isChange = checkOf(ScheduleChangeSchema)

/** When a schedule fires. */
type Timing = Pick<SchedulePlan, 'cron' | 'timeZone' | 'at'>

/** Checks the form of what was given, and drops undefined fields. @throws RUN_ERR_BAD_SCHEDULE */
export function requireChange(given: GivenChange): CheckedChange {
  const { at, cron } = given
  const isDate = at instanceof Date
  if (isDate && Number.isNaN(at.getTime()))
    throw badSchedule([{ path: 'at', message: 'must be a valid date' }])
  const all = { ...given, ...(isDate && { at: at.toISOString() }) }
  const change = Object.fromEntries(
    Object.entries(all).filter(([name, value]) => value !== undefined && (name !== 'cron' || value !== null))
  )
  if (!isChange(change)) throw badSchedule(findFaults(ScheduleChangeSchema, change))
  return cron === null ? { ...change, cron } : change
}

/**
 * The timing of a schedule after a change; the same object if the change has none.
 * @param earlier undefined for a new schedule
 * @throws RUN_ERR_BAD_SCHEDULE, RUN_ERR_SCHEDULE_PAST, the errors of `requireCron`
 */
export function changeTiming(
  earlier: Timing | undefined,
  { cron, timeZone, at }: CheckedChange,
  now: number
): Timing {
  if (cron !== undefined && at !== undefined)
    throw badSchedule([{ path: 'at', message: 'must be left out where cron is given' }])
  if (cron === null) {
    if (timeZone !== undefined)
      throw badSchedule([{ path: 'timeZone', message: 'must be left out where there is no cron' }])
    return { cron, timeZone: null, at: null }
  }
  if (at !== undefined) {
    if (timeZone !== undefined)
      throw badSchedule([
        { path: 'timeZone', message: 'must be left out where at is given, which has a zone' }
      ])
    return requireInstant(at, now)
  }
  if (cron === undefined && timeZone === undefined && earlier !== undefined) return earlier
  const expression = cron ?? earlier?.cron ?? undefined
  if (expression === undefined)
    throw earlier === undefined
      ? badSchedule([{ path: 'cron', message: 'is required, unless at is given' }])
      : badSchedule([{ path: 'timeZone', message: 'must be left out where there is no cron' }])
  const zone = timeZone ?? earlier?.timeZone ?? 'UTC'
  requireCron(expression, zone, now)
  return { cron: expression, timeZone: zone, at: null }
}

/** The first instant of a schedule after a time; null if there is none. */
export function nextInstant({ cron, timeZone, at }: Timing, after: number): number | null {
  if (cron === null) return at !== null && at > after ? at : null
  return new CronTimes(cron, timeZone ?? 'UTC').next(after) ?? null
}

/** The next instants of a cron expression after a time, at most `count`; in milliseconds since the epoch. */
export function upcomingInstants(
  { cron, timeZone = 'UTC' }: Pick<Schedule, 'cron' | 'timeZone'>,
  after: number,
  count: number
): number[] {
  const instants: number[] = []
  const times = cron === undefined ? undefined : new CronTimes(cron, timeZone)
  for (let next = times?.next(after); next !== undefined && instants.length < count; next = times!.next(next))
    instants.push(next)
  return instants
}

/** The last instant of a schedule that is due, up to a time. */
export function lastInstant({ nextAt, plan }: StoredSchedule, until: number): number {
  const { cron, timeZone } = plan
  return cron === null ? nextAt! : new CronTimes(cron, timeZone ?? 'UTC').last(nextAt!, until)
}

/** A schedule as clients see it. */
export function toSchedule(stored: StoredSchedule): Schedule {
  const { scheduleId, kind, name, plan, nextAt, lastAt, lastRunId, lastError } = stored
  const { cron, timeZone, at, input, sessionId, whenBusy, metadata, catchUp, enabled } = plan
  return {
    scheduleId,
    kind,
    name,
    ...(cron !== null && { cron }),
    ...(timeZone !== null && { timeZone }),
    ...(at !== null && { at: toTime(at) }),
    input,
    ...(sessionId !== null && { sessionId }),
    ...(whenBusy !== undefined && { whenBusy }),
    ...(metadata !== null && { metadata }),
    catchUp,
    enabled,
    createdAt: toTime(stored.createdAt),
    updatedAt: toTime(stored.updatedAt),
    ...(nextAt !== null && { nextAt: toTime(nextAt) }),
    ...(lastAt !== null && { lastAt: toTime(lastAt) }),
    ...(lastRunId !== null && { lastRunId }),
    ...(lastError !== null && { lastError })
  }
}

function requireInstant(text: string, now: number): Timing {
  const at = Date.parse(text)
  // Date accepts the 31st of any month as a day of the next month.
  const day = text.slice(0, 10)
  const exists = !Number.isNaN(at) && toTime(Date.parse(day)).startsWith(day)
  if (!exists) throw badSchedule([{ path: 'at', message: 'must be a date and a time that exist' }])
  if (at <= now) throw new RUN_ERR_SCHEDULE_PAST(text)
  return { cron: null, timeZone: null, at }
}

function badSchedule(errors: Fault[]): Error {
  return Object.assign(new RUN_ERR_BAD_SCHEDULE(formatFaults(errors)), { errors })
}

const toTime = (at: number) => new Date(at).toISOString()
