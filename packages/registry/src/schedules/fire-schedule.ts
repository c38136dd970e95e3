import {
  codeOf,
  isExposed,
  type Authorize,
  type Awaitable,
  type QueuedStart,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunnableKey,
  type ScheduleState,
  type ScheduleStore,
  type StoredSchedule,
  type Stores
} from '@svc/contract'
import { RUN_ERR_FAILED, RUN_ERR_SCHEDULE_NO_RUNNABLE, RUN_ERR_SCHEDULE_REFUSED } from '@svc/contract/errors'
import type { Surfaces } from '../access/surfaces.ts'
import { resolveAuthorize } from '../access/policy.ts'
import type { StartOptions } from '../engine/start-options.ts'
import { lastInstant, nextInstant } from './schedule-plan.ts'

/** Milliseconds after which an instant counts as missed, and after which a policy that fails is asked no more. */
const MISSED_AFTER = 60_000

/**
 * Fires a schedule that is due: queues its run, or lets the instant pass, and sets the next one. Returns false, with nothing done, if
 * another process was faster.
 * @throws what the store throws; what the app's policy throws, if it may be asked again for this instant
 */
export async function fireSchedule(
  host: ScheduleHost,
  schedules: ScheduleStore,
  schedule: StoredSchedule,
  now: number
): Promise<boolean> {
  const { plan, lastAt, lastRunId, lastError } = schedule
  const nextAt = nextInstant(plan, now)
  const state: ScheduleState = { nextAt, endedAt: nextAt === null ? now : null, lastAt, lastRunId, lastError }
  const isLate = now - schedule.nextAt! > MISSED_AFTER
  if (isLate && plan.catchUp === 'none') return schedules.fire(schedule, state)
  const runnable = await host.interrupted.find(schedule)
  // It was removed a moment ago: the schedule stays due until it is back.
  if (runnable === undefined) throw new RUN_ERR_SCHEDULE_NO_RUNNABLE(schedule.kind, schedule.name)
  const instant = lastInstant(schedule, now)
  let start: QueuedStart
  try {
    start = await prepareRun(host, runnable, schedule, instant)
  } catch (err) {
    if (!isRefusal(err) && !isLate) throw err
    const code = codeOf(err) ?? new RUN_ERR_FAILED().code
    return schedules.fire(schedule, { ...state, lastError: code })
  }
  const { runId } = start.run
  const fired = { ...state, lastAt: instant, lastRunId: runId, lastError: null }
  return schedules.fire(schedule, fired, start)
}

/**
 * The options that a run of a schedule starts with: the policy of the surface that created it. If that surface is gone, a schedule that
 * the app's policy guarded is guarded by the app's default, and may run nothing without one.
 * @param instant for which it starts, in milliseconds since the epoch; the run's metadata has it, and the id of the schedule
 */
export function toStartOptions(
  { surfaces }: Pick<ScheduleHost, 'surfaces'>,
  { registry, plan, scheduleId }: Pick<StoredSchedule, 'registry' | 'plan' | 'scheduleId'>,
  instant: number
): StartOptions {
  const { principal, surface, guarded, sessionId, whenBusy, metadata } = plan
  const policy = surface === null ? undefined : surfaces.policyOf(surface)
  const { authorize: fallback = refuse } = surfaces.policy
  const authorize = policy?.authorize ?? (guarded ? resolveAuthorize(fallback) : undefined)
  return {
    registry,
    principal,
    authorize,
    onDisconnect: 'continue',
    ...(surface !== null && { surface }),
    ...(sessionId !== null && { sessionId }),
    ...(whenBusy !== undefined && { whenBusy }),
    metadata: { ...metadata, scheduleId, scheduledAt: new Date(instant).toISOString() }
  }
}

const refuse: Authorize = () => ({ allowed: false })

async function prepareRun(
  host: ScheduleHost,
  runnable: Runnable,
  schedule: StoredSchedule,
  instant: number
): Promise<QueuedStart> {
  const { kind, name, plan } = schedule
  const options = toStartOptions(host, schedule, instant)
  const decision = await options.authorize?.(plan.principal, 'run', { kind, name })
  if (decision?.allowed === false) throw new RUN_ERR_SCHEDULE_REFUSED()
  return host.queued.prepare(runnable, plan.input, options)
}

// Other errors, such as those of a policy whose database is away, may pass.
function isRefusal(err: unknown): boolean {
  return isExposed(err) && (err.statusCode ?? 500) < 500
}

/** The parts of the engine that schedules need. */
export interface ScheduleHost {
  readonly stores: Stores
  readonly log: RunLog
  readonly surfaces: Surfaces
  /** Aborts when the engine begins to close. */
  readonly closing: AbortSignal
  readonly interrupted: {
    /** The keys of the resumable runnables of this process. */
    readonly known: RunnableKey[]
    knows(key: RunnableKey): boolean
    find(key: RunnableKey): Awaitable<Runnable | undefined>
    know(runnable: Runnable, registry: string): RunnableKey
  }
  readonly queued: {
    /**
     * Builds what the queue stores of a new run.
     * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NOT_QUEUEABLE, RUN_ERR_SCHEDULE_BINARY, RUN_ERR_LOG_LIMIT
     */
    prepare(runnable: Runnable, input: RunInput, options: StartOptions): QueuedStart
    /** Begins waiting runs from now on. */
    serve(): void
  }
}
