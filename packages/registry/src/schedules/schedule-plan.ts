import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  findFaults,
  formatFaults,
  RUN_ERR_BAD_SCHEDULE,
  RUN_ERR_SCHEDULE_PAST,
  ScheduleChangeSchema,
  type Fault,
  type Schedule,
  type ScheduleChange,
  type SchedulePlan,
  type StoredSchedule
} from '@svc/contract'
import { CronTimes, requireCron } from './cron-times.ts'

/** A change by the app, which may give the instant as a date. */
export type GivenChange = Omit<ScheduleChange, 'at'> & { at?: string | Date }

const fieldsCheck = TypeCompiler.Compile(ScheduleChangeSchema)

/** When a schedule fires. */
type Timing = Pick<SchedulePlan, 'cron' | 'timeZone' | 'at'>

/** Checks the form of what was given, and drops undefined fields. @throws RUN_ERR_BAD_SCHEDULE */
export function requireChange(given: GivenChange): ScheduleChange {
  const { at } = given
  const isDate = at instanceof Date
  if (isDate && Number.isNaN(at.getTime()))
    throw badSchedule([{ path: 'at', message: 'must be a valid date' }])
  const all = { ...given, ...(isDate && { at: at.toISOString() }) }
  const change = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  if (!fieldsCheck.Check(change)) throw badSchedule(findFaults(ScheduleChangeSchema, change))
  return change
}

/**
 * The timing of a schedule after a change; the same object if the change has none.
 * @param earlier undefined for a new schedule
 * @throws RUN_ERR_BAD_SCHEDULE, RUN_ERR_SCHEDULE_PAST, the errors of `requireCron`
 */
export function changeTiming(
  earlier: Timing | undefined,
  { cron, timeZone, at }: ScheduleChange,
  now: number
): Timing {
  if (cron !== undefined && at !== undefined)
    throw badSchedule([{ path: 'at', message: 'must be left out where cron is given' }])
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
