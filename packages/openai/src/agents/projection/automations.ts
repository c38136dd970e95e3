import { isTerminalStatus } from '@svc/contract'
import { labelOf, toRunnableId, type OwnedSchedule, type ScheduledRun } from '@svc/surface'
import { toSeconds } from '../wire/agent-objects.ts'
import type { Automation, AutomationTarget, Invocation } from '../wire/automation-schemas.ts'
import { toInputContent } from './turn-projection.ts'

/** True if a schedule has times as an automation has them; one that was ended has none. */
export function isAutomation({ cron, at, endedAt }: OwnedSchedule): boolean {
  return at !== undefined || (cron !== undefined && endedAt === undefined)
}

/** True if the only instant of an automation is over. */
export function isCompleted({ at, endedAt }: OwnedSchedule): boolean {
  return at !== undefined && endedAt !== undefined
}

/** A schedule that `isAutomation`. */
export function toAutomation(schedule: OwnedSchedule): Automation {
  const { scheduleId, createdAt, cron, timeZone = 'UTC', at = createdAt, enabled } = schedule
  const { name, metadata = {} } = labelOf(schedule)
  const common = {
    id: scheduleId,
    object: 'agent.automation',
    created_at: secondsOf(createdAt),
    created_by: { type: 'developer' },
    metadata: { ...metadata },
    name,
    target: toTarget(schedule),
    pause_reason: null
  } as const
  const status = enabled ? 'active' : 'paused'
  if (cron !== undefined) return { ...common, type: 'periodic', expression: cron, timezone: timeZone, status }
  const now = isCompleted(schedule) ? 'completed' : status
  return { ...common, type: 'once', run_at: secondsOf(at), status: now }
}

function toTarget({ kind, name, sessionId, input }: OwnedSchedule): AutomationTarget {
  const content = toInputContent(input) ?? []
  if (sessionId === undefined)
    return {
      type: 'new_session',
      agent: null,
      agent_id: toRunnableId(kind, name),
      environment: { type: 'none' },
      input: [{ type: 'message', role: 'user', content }],
      metadata: {},
      vault_ids: []
    }
  const texts = content.map((each) => (each.type === 'input_text' ? each.text : `[${each.image_url}]`))
  return { type: 'existing_session', session_id: sessionId, instructions: texts.join('\n') }
}

/** A run of a schedule as what its automation has done. It is completed when the session has the message, whatever the agent then does. */
export function toInvocation({ run, instant }: ScheduledRun, schedule: OwnedSchedule): Invocation {
  const { runId, createdAt, sessionId, status, epoch, error } = run
  // What a process has begun has an epoch.
  const hasFailed = isTerminalStatus(status) && epoch === 0
  const isQueued = status === 'submitted'
  const hasSession = instant === undefined || schedule.sessionId !== undefined || !(hasFailed || isQueued)
  return {
    id: runId,
    object: 'agent.automation.invocation',
    automation_id: schedule.scheduleId,
    created_at: toSeconds(createdAt),
    error: hasFailed ? toFailure(error) : null,
    scheduled_at: instant === undefined ? null : secondsOf(instant),
    session_id: hasSession ? sessionId : null,
    skip_reason: null,
    source:
      instant === undefined ? { type: 'manual' } : { type: 'automation', automation: toAutomation(schedule) },
    status: hasFailed ? 'failed' : isQueued ? 'queued' : 'completed'
  }
}

function toFailure(error: ScheduledRun['run']['error']): Invocation['error'] {
  if (error === null) return { code: 'canceled', message: 'It was canceled before it began' }
  return { code: error.code, message: error.message }
}

const secondsOf = (time: string) => toSeconds(Date.parse(time))
