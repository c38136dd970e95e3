import { Cron, CronPattern } from 'croner'
import {
  RUN_ERR_SCHEDULE_CRON,
  RUN_ERR_SCHEDULE_NEVER,
  RUN_ERR_SCHEDULE_TIME_ZONE,
  RUN_ERR_SCHEDULE_TOO_OFTEN
} from '@svc/contract'

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
