import {
  SESSION_EVENTS,
  type Fault,
  type InputKind,
  type ReportedEvent,
  type StoredDelivery,
  type WebhookEvent
} from '@svc/contract'

/** Whose shape the events of a webhook have: our own, or that of the sessions of a vendor. */
type Format = 'runs' | keyof typeof SESSION_EVENTS

const FORMATS = Object.keys(SESSION_EVENTS) as (keyof typeof SESSION_EVENTS)[]

function formatOf(event: ReportedEvent): Format {
  return FORMATS.find((format) => (SESSION_EVENTS[format] as readonly string[]).includes(event)) ?? 'runs'
}

// The first one that a webhook asks for is what it gets.
const NAMES = {
  openai: {
    'run.completed': ['agent.session.idle'],
    'run.failed': ['agent.session.failed', 'agent.session.idle'],
    'run.input-required': ['agent.session.action_required']
  },
  anthropic: {
    'run.completed': ['session.status_idled'],
    'run.failed': ['session.status_idled'],
    'run.input-required': ['session.requires_action', 'session.status_idled']
  }
} as const satisfies Record<keyof typeof SESSION_EVENTS, Record<WebhookEvent, readonly ReportedEvent[]>>

/** What is wrong with the events of a webhook; undefined if nothing is. */
export function faultOfEvents(events: readonly ReportedEvent[]): Fault | undefined {
  return new Set(events.map(formatOf)).size > 1
    ? { path: 'events', message: 'must all have one shape: that of runs, or that of the sessions of one API' }
    : undefined
}

/** The events of a webhook as stores keep them: with those of runs that they are made of. */
export function withRunEvents(events: readonly ReportedEvent[]): ReportedEvent[] {
  const format = formatOf(events[0]!)
  if (format === 'runs') return [...events]
  const ofRuns = (Object.entries(NAMES[format]) as [WebhookEvent, readonly ReportedEvent[]][])
    .filter(([, names]) => names.some((name) => events.includes(name)))
    .map(([event]) => event)
  return [...events, ...ofRuns]
}

/** The events that its owner has asked for. */
export function askedEvents(stored: readonly ReportedEvent[]): ReportedEvent[] {
  const ofSessions = stored.filter((event) => formatOf(event) !== 'runs')
  return ofSessions.length > 0 ? ofSessions : [...stored]
}

/**
 * The body of a message about a session, as the API of its vendor has it; undefined for a webhook of runs.
 * @param asked the events of the webhook as stores keep them
 */
export function toSessionEvent(
  { deliveryId: id, event, at, sessionId, detail }: StoredDelivery,
  asked: readonly ReportedEvent[]
): object | undefined {
  const format = FORMATS.find((each) => asked.some((name) => formatOf(name) === each))
  if (format === undefined) return undefined
  const names: readonly ReportedEvent[] = NAMES[format][event]
  // The webhook may have been changed since the run.
  const type = names.find((name) => asked.includes(name)) ?? names[0]!
  if (format === 'anthropic') {
    const data = { id: sessionId, type, organization_id: 'org_service', workspace_id: 'wrkspc_service' }
    return { type: 'event', id, created_at: new Date(at).toISOString(), data }
  }
  const about =
    event === 'run.input-required'
      ? { required_action: { type: toActionType((detail as { kind: InputKind }).kind) } }
      : { environment_type: 'none' }
  const created_at = Math.floor(at / 1_000)
  return { object: 'event', id, type, created_at, data: { id: sessionId, ...about } }
}

function toActionType(kind: InputKind): 'mcp_approval_request' | 'function_call' {
  return kind === 'approval' ? 'mcp_approval_request' : 'function_call'
}
