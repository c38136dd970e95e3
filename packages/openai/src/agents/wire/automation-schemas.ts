import { Type, type Static, type TProperties, type TSchema } from '@sinclair/typebox'
import { RunMetadataSchema } from '@svc/contract'
import { oneOf, orNull } from './agent-schemas.ts'
import { InputContentSchema, InputMessageSchema } from './item-schemas.ts'

const strict = { additionalProperties: false } as const
const maybe = <T extends TSchema>(schema: T) => Type.Optional(orNull(schema))
const Seconds = Type.Integer({ description: 'Seconds since the epoch' })

/** To which session an automation sends what: its fields are those of its type. */
const GivenTargetSchema = Type.Object(
  {
    type: Type.String({ description: '`new_session` or `existing_session`' }),
    agent_id: Type.Optional(Type.String({ minLength: 1, description: 'Of a new session: required' })),
    agent: Type.Optional(Type.Unknown({ description: 'Not served: agents are defined by the service' })),
    environment: Type.Optional(
      Type.Object({ type: Type.String({ description: '`none`; others are not served' }) })
    ),
    input: Type.Optional(
      Type.Array(InputMessageSchema, { minItems: 1, maxItems: 50, description: 'Of a new session: required' })
    ),
    metadata: maybe(Type.Unknown({ description: 'Only what is empty is accepted' })),
    vault_ids: Type.Optional(Type.Unknown({ description: 'Only what is empty is accepted' })),
    session_id: Type.Optional(Type.String({ minLength: 1, description: 'Of an existing session: required' })),
    instructions: Type.Optional(
      Type.String({ minLength: 1, description: 'Of an existing session: required, its next message' })
    )
  },
  { title: 'GivenAutomationTarget', ...strict }
)
export type GivenTarget = Static<typeof GivenTargetSchema>

const name = Type.String({ minLength: 1, maxLength: 256 })
const expression = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'Of a periodic one: five fields, at most once a minute'
})
const timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Of a periodic one: as in the IANA database'
})
const run_at = Type.Integer({
  minimum: 0,
  maximum: 253_402_300_799,
  description: 'Of a one-time one: seconds since the epoch, in the future'
})

/** The request of `POST /agents/automations`. */
export const CreateAutomationSchema = Type.Object(
  {
    type: Type.String({ description: '`periodic` or `once`' }),
    name,
    target: GivenTargetSchema,
    expression: Type.Optional(expression),
    timezone: Type.Optional(timezone),
    run_at: Type.Optional(run_at),
    metadata: maybe(RunMetadataSchema)
  },
  { title: 'CreateAutomation', ...strict }
)
export type CreateAutomation = Static<typeof CreateAutomationSchema>

/** The request of `POST /agents/automations/:id`. */
export const UpdateAutomationSchema = Type.Object(
  {
    name: Type.Optional(name),
    target: Type.Optional(GivenTargetSchema),
    expression: Type.Optional(expression),
    timezone: Type.Optional(timezone),
    run_at: Type.Optional(run_at),
    metadata: maybe(RunMetadataSchema)
  },
  { title: 'UpdateAutomation', ...strict }
)
export type UpdateAutomation = Static<typeof UpdateAutomationSchema>

const TargetSchema = Type.Union(
  [
    Type.Object({
      type: Type.Literal('new_session'),
      agent: Type.Null(),
      agent_id: Type.String(),
      environment: Type.Object({ type: Type.Literal('none') }),
      input: Type.Array(
        Type.Object({
          type: Type.Literal('message'),
          role: Type.Literal('user'),
          content: Type.Array(InputContentSchema)
        })
      ),
      metadata: RunMetadataSchema,
      vault_ids: Type.Array(Type.String())
    }),
    Type.Object({
      type: Type.Literal('existing_session'),
      session_id: Type.String(),
      instructions: Type.String()
    })
  ],
  { title: 'AutomationTarget' }
)
export type AutomationTarget = Static<typeof TargetSchema>

const define = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({
    id: Type.String(),
    object: Type.Literal('agent.automation'),
    type: Type.Literal(type),
    created_at: Seconds,
    created_by: Type.Object({ type: Type.Literal('developer') }),
    metadata: RunMetadataSchema,
    name: Type.String(),
    target: TargetSchema,
    pause_reason: Type.Null(),
    ...fields
  })

/** An automation: a schedule. */
export const AutomationSchema = Type.Union(
  [
    define('periodic', {
      expression: Type.String(),
      timezone: Type.String(),
      status: oneOf('active', 'paused')
    }),
    define('once', { run_at: Seconds, status: oneOf('active', 'paused', 'completed') })
  ],
  { title: 'Automation' }
)
export type Automation = Static<typeof AutomationSchema>

/** A run of an automation. */
export const InvocationSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('agent.automation.invocation'),
    automation_id: Type.String(),
    created_at: Seconds,
    error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
    scheduled_at: orNull(Seconds),
    session_id: orNull(Type.String()),
    skip_reason: Type.Null(),
    source: Type.Union([
      Type.Object({ type: Type.Literal('manual') }),
      Type.Object({ type: Type.Literal('automation'), automation: AutomationSchema })
    ]),
    status: oneOf('queued', 'completed', 'failed')
  },
  { title: 'AutomationInvocation' }
)
export type Invocation = Static<typeof InvocationSchema>
