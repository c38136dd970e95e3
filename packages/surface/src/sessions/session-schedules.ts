import {
  defined,
  type Awaitable,
  type Principal,
  type RunMetadata,
  type RunSummary,
  type Runnable,
  type SessionSettings,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_NOT_FOUND, RUN_ERR_SCHEDULE_NOT_FOUND } from '@svc/contract/errors'
import { formatRunCursor } from '@svc/contract/stores'
import { removeSession, type NewScheduleOptions, type OwnedSchedule } from '@svc/registry'
import type { FastifyRequest } from 'fastify'
import { ProviderKeys, requireExposed } from '../access/admit-run.ts'
import { toRunnableId } from '../access/runnable-id.ts'
import type { WireSurface } from '../open-surface.ts'
import { beginSession } from './find-session.ts'
import { sendMessage } from './send-message.ts'
import type { ListOrder } from './session-turns.ts'

type Asking = Pick<FastifyRequest, 'caller' | 'headers' | 'log'>

/** What clients call a schedule, on any wire. */
export interface ScheduleLabel {
  readonly name: string
  readonly description?: string | undefined
  readonly metadata?: RunMetadata | undefined
}

const LABEL = 'label'

/** The label of a schedule; one that has none is named after what it runs. */
export function labelOf({ settings, kind, name }: OwnedSchedule): ScheduleLabel {
  return readLabel(settings) ?? { name: toRunnableId(kind, name) }
}

function readLabel(settings: SessionSettings): ScheduleLabel | undefined {
  return settings[LABEL] as ScheduleLabel | undefined
}

/** Changes the label of a schedule, for `Schedules.update`. */
export function relabel(
  schedule: OwnedSchedule,
  change: (label: ScheduleLabel) => ScheduleLabel
): (before: SessionSettings) => SessionSettings {
  return (before) => ({ ...before, [LABEL]: change(readLabel(before) ?? labelOf(schedule)) })
}

/** True if an expression has the five fields of POSIX, with names of months and days, and nothing beyond. */
export function isFiveFields(expression: string): boolean {
  const fields = expression.trim().split(/\s+/)
  return fields.length === 5 && fields.every((field) => FIELD.test(field))
}

const FIELD =
  /^(?:[\d*/,-]|(?<![a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)(?![a-z]))+$/i

/**
 * Creates a schedule of a runnable that the caller may run.
 * @throws the errors of `Schedules.create`
 */
export function createSchedule(
  { runs, exposed, providerKeyHeaders }: WireSurface,
  runnable: Runnable,
  given: NewScheduleOptions,
  label: ScheduleLabel,
  { caller: principal, headers, log }: Asking
): Promise<OwnedSchedule> {
  const { apiKey, redact } = new ProviderKeys(headers, undefined, providerKeyHeaders).forRun(log)
  const options = { ...exposed.startOptions(runnable), principal, apiKey, redact }
  return runs.schedules.create(runnable, given, { ...options, settings: { [LABEL]: label } })
}

/** Selects what a wire shows of a list. */
export interface PickedList<T> {
  /** At most this many; 1–1,000. */
  readonly limit: number
  /** The cursor of the item before the page; default: the page is the first one. */
  readonly cursor?: string | undefined
  readonly shows: (item: T) => Awaitable<boolean>
}

/** A page of what a wire shows; `next` is the cursor of the page after it, null if there is none. */
export interface PickedPage<T> {
  readonly items: readonly T[]
  readonly next: string | null
}

/**
 * The caller's schedules of this surface, newest first.
 * @throws REG_ERR_BAD_CURSOR, RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE
 */
export function listSchedules(
  { runs, exposed }: Pick<WireSurface, 'runs' | 'exposed'>,
  { sub: owner }: Principal,
  { shows, ...query }: PickedList<OwnedSchedule>
): Promise<PickedPage<OwnedSchedule>> {
  return pick({
    ...query,
    shows: (schedule) => exposed.shows(schedule) && shows(schedule),
    cursorOf: cursorOfSchedule,
    async read(limit, cursor) {
      const page = await runs.schedules.list({ owner, limit, ...defined({ cursor }) })
      return { items: page.schedules, nextCursor: page.nextCursor }
    }
  })
}

/** The cursor of the page after a schedule. */
export function cursorOfSchedule({ createdAt, scheduleId }: OwnedSchedule): string {
  return formatRunCursor({ at: Date.parse(createdAt), runId: scheduleId })
}

/**
 * Finds a schedule of the caller that belongs to the surface; any other counts as missing.
 * @throws RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_SCHEDULES_NOT_KEPT, RUN_ERR_STORE
 */
export async function findSchedule(
  { runs, exposed }: Pick<WireSurface, 'runs' | 'exposed'>,
  scheduleId: string,
  { sub }: Principal
): Promise<OwnedSchedule> {
  const schedule = await runs.schedules.get(scheduleId)
  if (schedule?.owner !== sub || !exposed.shows(schedule)) throw new RUN_ERR_SCHEDULE_NOT_FOUND(scheduleId)
  return schedule
}

/** A run of a schedule. */
export interface ScheduledRun {
  readonly run: RunSummary
  readonly scheduleId: string
  /** The instant for which it started, ISO 8601 in UTC; undefined if a client asked for it. */
  readonly instant?: string | undefined
}

/** Reads of which schedule a run is; undefined if it is of none. */
function toScheduledRun(run: RunSummary): ScheduledRun | undefined {
  const { scheduleId, scheduledAt: instant } = run.metadata ?? {}
  return scheduleId === undefined ? undefined : { run, scheduleId, instant }
}

/**
 * Finds a run of the caller that a schedule has started; any other counts as missing.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_STORE
 */
export async function findScheduledRun(
  { runs, exposed }: Pick<WireSurface, 'runs' | 'exposed'>,
  runId: string,
  { sub }: Principal
): Promise<ScheduledRun> {
  const run = await runs.find(runId)
  const found = run?.owner === sub && exposed.shows(run) ? toScheduledRun(run) : undefined
  if (found === undefined) throw new RUN_ERR_NOT_FOUND(runId)
  return found
}

/**
 * The schedule whose run began a session; undefined if none did, or that run is no longer kept.
 * @throws RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function scheduleOfSession(
  { runs }: { readonly runs: Pick<WireSurface['runs'], 'sessions' | 'find'> },
  session: StoredSession
): Promise<string | undefined> {
  const [first] = session.lastOrdinal === 0 ? [] : await runs.sessions.runs(session, 0, 1)
  const run = first && (await runs.find(first.runId))
  return run && toScheduledRun(run)?.scheduleId
}

/** Selects runs of schedules. */
export interface ScheduledRunList extends PickedList<ScheduledRun> {
  /** Default: the runs of all. */
  readonly scheduleId?: string | undefined
  /** Default `desc`. */
  readonly order?: ListOrder | undefined
}

/**
 * The caller's runs of a schedule, or of all, by default newest first. Those that are no longer kept are missing.
 * @throws REG_ERR_BAD_CURSOR, RUN_ERR_STORE
 */
export function listScheduledRuns(
  { runs, exposed }: Pick<WireSurface, 'runs' | 'exposed'>,
  { sub: owner }: Principal,
  { scheduleId, order, shows, ...query }: ScheduledRunList
): Promise<PickedPage<ScheduledRun>> {
  const metadata = scheduleId === undefined ? undefined : { key: 'scheduleId', value: scheduleId }
  return pick({
    ...query,
    shows,
    cursorOf: cursorOfScheduledRun,
    async read(limit, cursor) {
      const page = await runs.list({
        owner,
        scope: exposed.scope(),
        limit,
        ...defined({ metadata, order, cursor })
      })
      return { items: page.runs.flatMap((run) => toScheduledRun(run) ?? []), nextCursor: page.nextCursor }
    }
  })
}

/** The cursor of the page after a run. */
export function cursorOfScheduledRun({ run: { createdAt, runId } }: ScheduledRun): string {
  return formatRunCursor({ at: createdAt, runId })
}

/**
 * Starts a run of a schedule now, as the caller; the schedule stays as it is.
 * @param prefix of the id of its session, if it has a new one
 * @throws RUN_ERR_SESSION_*, and the errors of `sendMessage`
 */
export async function runSchedule(
  surface: WireSurface,
  { kind, name, sessionId, input, metadata, scheduleId }: OwnedSchedule,
  prefix: string,
  request: Asking
): Promise<ScheduledRun> {
  const body = { input, metadata: { ...metadata, scheduleId } }
  const options = { whenBusy: 'queue' } as const
  const send = async (session: Parameters<typeof sendMessage>[1]) => {
    const { runId } = await sendMessage(surface, session, body, options, request)
    return findScheduledRun(surface, runId, request.caller)
  }
  if (sessionId !== undefined) return send({ kind, name, sessionId })
  const runnable = await requireExposed(surface, kind, name)
  const session = await beginSession(surface, runnable, prefix, {}, request.caller)
  try {
    return await send(session)
  } catch (err) {
    await removeSession(surface.runs, session)
    throw err
  }
}

// Reads of a store for one page: a page may be short, even empty, before the last one.
const MAX_READS = 50

interface Picking<T> extends PickedList<T> {
  readonly cursorOf: (item: T) => string
  readonly read: (
    limit: number,
    cursor: string | undefined
  ) => Promise<{ readonly items: readonly T[]; readonly nextCursor: string | null }>
}

async function pick<T>({ limit, cursor, shows, cursorOf, read }: Picking<T>): Promise<PickedPage<T>> {
  const items: T[] = []
  let at = cursor
  for (let reads = 0; reads < MAX_READS; reads++) {
    const page = await read(Math.min(limit + 1, 1_000), at)
    for (const item of page.items) {
      if (!(await shows(item))) continue
      if (items.length === limit) return { items, next: cursorOf(items.at(-1)!) }
      items.push(item)
    }
    if (page.nextCursor === null) return { items, next: null }
    at = page.nextCursor
  }
  return { items, next: at ?? null }
}
