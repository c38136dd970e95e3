import { Type, type Static } from '@sinclair/typebox'
import { isTerminalStatus, MetadataValueSchema, RunMetadataSchema } from '@svc/contract'
import {
  labelOf,
  toRunnableId,
  upcomingInstants,
  type OwnedSchedule,
  type ScheduledRun,
  type WireSurface
} from '@svc/surface'
import { VERSION } from '../agents/agent-object.ts'
import { ENVIRONMENT } from '../environments/environment-routes.ts'
import { toUserBlocks } from '../projection/user-content.ts'
import { UserBlockSchema } from '../wire/blocks.ts'
import { UserMessageSchema } from '../wire/events.ts'

const time = Type.String({ format: 'date-time' })
const orNull = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Union([schema, Type.Null()])
const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(orNull(schema))
const none = Type.Array(Type.Never(), { maxItems: 0 })
const list = nullable(Type.Array(Type.Unknown(), { maxItems: 500 }))
const strict = { additionalProperties: false } as const
const AgentReferenceSchema = Type.Object({
  id: Type.String(),
  type: Type.Literal('agent'),
  version: Type.Integer({ description: 'Always 1' })
})

/** A deployment: a schedule whose runs have new sessions. */
export const DeploymentSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('deployment'),
    agent: AgentReferenceSchema,
    name: Type.String(),
    description: orNull(Type.String()),
    metadata: Type.Record(Type.String(), Type.String()),
    environment_id: Type.String(),
    initial_events: Type.Array(
      Type.Object({ type: Type.Literal('user.message'), content: Type.Array(UserBlockSchema) })
    ),
    schedule: orNull(
      Type.Object({
        type: Type.Literal('cron'),
        expression: Type.String(),
        timezone: Type.String(),
        last_run_at: orNull(time),
        upcoming_runs_at: Type.Array(time)
      })
    ),
    status: Type.Union([Type.Literal('active'), Type.Literal('paused')]),
    paused_reason: orNull(Type.Object({ type: Type.Literal('manual') })),
    resources: none,
    vault_ids: none,
    budget: Type.Null(),
    archived_at: orNull(time),
    created_at: time,
    updated_at: time
  },
  { title: 'Deployment' }
)
export type Deployment = Static<typeof DeploymentSchema>

/** A run of a deployment. */
export const DeploymentRunSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('deployment_run'),
    agent: AgentReferenceSchema,
    deployment_id: Type.String(),
    created_at: time,
    error: orNull(
      Type.Object({ type: Type.Literal('session_creation_rejected_error'), message: Type.String() })
    ),
    session_id: orNull(Type.String()),
    trigger_context: Type.Union([
      Type.Object({ type: Type.Literal('manual') }),
      Type.Object({ type: Type.Literal('schedule'), scheduled_at: time })
    ])
  },
  { title: 'DeploymentRun' }
)
export type DeploymentRun = Static<typeof DeploymentRunSchema>

const AgentSchema = Type.Union([
  Type.String({ minLength: 1 }),
  Type.Object(
    {
      type: Type.Literal('agent'),
      id: Type.String({ minLength: 1 }),
      version: Type.Optional(Type.Integer())
    },
    strict
  )
])
const InitialEventsSchema = Type.Array(
  Type.Union([
    UserMessageSchema,
    Type.Object(
      { type: Type.Union([Type.Literal('user.define_outcome'), Type.Literal('system.message')]) },
      { additionalProperties: true }
    )
  ]),
  { minItems: 1, maxItems: 50 }
)
const ScheduleSchema = Type.Object(
  {
    type: Type.Literal('cron'),
    expression: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Five fields, at most once a minute'
    }),
    timezone: Type.String({ minLength: 1, maxLength: 64, description: 'As in the IANA database' })
  },
  strict
)
const label = Type.String({ minLength: 1, maxLength: 256 })
const description = nullable(Type.String({ maxLength: 2_048 }))
const unserved = { budget: nullable(Type.Unknown()), resources: list, vault_ids: list }

/** The request of `POST /v1/deployments`. */
export const NewDeploymentSchema = Type.Object(
  {
    agent: AgentSchema,
    environment_id: Type.String(),
    initial_events: InitialEventsSchema,
    name: label,
    description,
    metadata: Type.Optional(RunMetadataSchema),
    schedule: nullable(ScheduleSchema),
    ...unserved
  },
  { title: 'NewDeployment', ...strict }
)
export type NewDeployment = Static<typeof NewDeploymentSchema>

/** The request of `POST /v1/deployments/:id`. */
export const DeploymentUpdateSchema = Type.Object(
  {
    agent: Type.Optional(AgentSchema),
    environment_id: Type.Optional(Type.String()),
    initial_events: Type.Optional(InitialEventsSchema),
    name: Type.Optional(label),
    description,
    metadata: nullable(Type.Record(Type.String(), orNull(MetadataValueSchema))),
    schedule: nullable(ScheduleSchema),
    ...unserved
  },
  { title: 'DeploymentUpdate', ...strict }
)
export type DeploymentUpdate = Static<typeof DeploymentUpdateSchema>

/** True if a schedule is a deployment: its runs have new sessions, and it has no single instant. */
export function isDeployment({ sessionId, at }: OwnedSchedule): boolean {
  return sessionId === undefined && at === undefined
}

/** True if the runs of a schedule are those of a deployment; one that was removed counts as such. @throws RUN_ERR_STORE */
export async function isOfDeployment(
  { runs: { schedules } }: Pick<WireSurface, 'runs'>,
  scheduleId: string
): Promise<boolean> {
  if (!schedules.areKept) return false
  const schedule = await schedules.get(scheduleId)
  return schedule === undefined || isDeployment(schedule)
}

// Times of a schedule that are told in advance.
const UPCOMING = 5

/** A schedule that `isDeployment`. @param now milliseconds since the epoch, after which its next times are */
export function toDeployment(schedule: OwnedSchedule, now: number): Deployment {
  const { scheduleId, kind, name, input, cron, timeZone = 'UTC', lastAt = null, enabled } = schedule
  const { endedAt = null, createdAt, updatedAt } = schedule
  const { name: called, description: about = null, metadata } = labelOf(schedule)
  const isPaused = !enabled && endedAt === null
  const upcoming = endedAt === null ? upcomingInstants(schedule, now, UPCOMING) : []
  return {
    id: scheduleId,
    type: 'deployment',
    agent: { id: toRunnableId(kind, name), type: 'agent', version: VERSION },
    name: called,
    description: about,
    metadata: { ...metadata },
    environment_id: ENVIRONMENT,
    initial_events: [{ type: 'user.message', content: toUserBlocks(input) }],
    schedule:
      cron === undefined
        ? null
        : {
            type: 'cron',
            expression: cron,
            timezone: timeZone,
            last_run_at: lastAt,
            upcoming_runs_at: upcoming.map(toTime)
          },
    status: isPaused ? 'paused' : 'active',
    paused_reason: isPaused ? { type: 'manual' } : null,
    resources: [],
    vault_ids: [],
    budget: null,
    archived_at: endedAt,
    created_at: createdAt,
    updated_at: updatedAt
  }
}

/** True if it is known whether a run has its session, as clients are told of it. */
export function isDecided({ run, instant }: ScheduledRun): boolean {
  return instant === undefined || run.status !== 'submitted'
}

/** True if a run ended before it had its session. */
export function hasNoSession({ run: { status, epoch } }: ScheduledRun): boolean {
  return isTerminalStatus(status) && epoch === 0
}

/** A run of a schedule that `isDecided`. */
export function toDeploymentRun(scheduled: ScheduledRun): DeploymentRun {
  const { run, scheduleId, instant } = scheduled
  const hasFailed = hasNoSession(scheduled)
  const message = run.error?.message ?? 'It was canceled before it began'
  return {
    id: run.runId,
    type: 'deployment_run',
    agent: { id: toRunnableId(run.kind, run.name), type: 'agent', version: VERSION },
    deployment_id: scheduleId,
    created_at: toTime(run.createdAt),
    error: hasFailed ? { type: 'session_creation_rejected_error', message } : null,
    session_id: hasFailed ? null : run.sessionId,
    trigger_context: instant === undefined ? { type: 'manual' } : { type: 'schedule', scheduled_at: instant }
  }
}

const toTime = (at: number) => new Date(at).toISOString()
