import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { RunMetadataSchema } from '@svc/contract'
import { bytesReply, eventsReply, jsonReply } from '@svc/surface'
import { ErrorBodySchema } from '../../wire/error-body.ts'
import {
  AgentSchema,
  AgentSessionSchema,
  orNull,
  SessionArtifactSchema,
  SubagentSchema,
  TurnSchema
} from '../wire/agent-schemas.ts'
import { AutomationSchema, InvocationSchema } from '../wire/automation-schemas.ts'
import { AgentSessionEventSchema } from '../wire/event-schemas.ts'
import { InputMessageSchema, SessionItemSchema } from '../wire/item-schemas.ts'

const strict = { additionalProperties: false } as const
const maybe = <T extends TSchema>(schema: T) => Type.Optional(orNull(schema))
const NOT_SERVED = 'Not served: only what has no effect is accepted'
const unserved = () => Type.Optional(Type.Unknown({ description: NOT_SERVED }))

const FunctionToolSchema = Type.Object(
  {
    type: Type.String({ description: '`function`; other tools are refused' }),
    name: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    parameters: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    async: Type.Optional(Type.Boolean({ description: 'true is not served' })),
    defer_loading: Type.Optional(Type.Boolean({ description: 'true is not served' }))
  },
  { title: 'AgentTool' }
)
export type GivenFunctionTool = Static<typeof FunctionToolSchema>

/** What a session has beside its agent. */
const AgentOverridesSchema = Type.Object(
  {
    instructions: maybe(Type.String()),
    tools: maybe(Type.Array(FunctionToolSchema, { maxItems: 64 })),
    text: maybe(
      Type.Object(
        {
          format: maybe(
            Type.Object({
              type: Type.String(),
              schema: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
            })
          ),
          verbosity: Type.Optional(Type.Unknown({ description: 'Only `medium` and null are accepted' }))
        },
        strict
      )
    ),
    model: Type.Optional(Type.String({ description: 'Only `agent_id` itself is accepted' })),
    compaction: unserved(),
    experimental: unserved(),
    multi_agent: unserved(),
    reasoning: unserved(),
    service_tier: unserved()
  },
  { title: 'AgentOverrides', ...strict }
)
export type AgentOverrides = Static<typeof AgentOverridesSchema>

const unservedOfSession = {
  prompt_cache_options: unserved(),
  review: unserved(),
  spend_control: unserved()
}

/** The request of `POST /agents/sessions`. */
export const CreateSessionSchema = Type.Object(
  {
    agent_id: Type.Optional(Type.String({ minLength: 1 })),
    agent: Type.Optional(AgentOverridesSchema),
    environment: Type.Object({ type: Type.String({ description: '`none`; others are not served' }) }),
    input: maybe(Type.Union([Type.String(), Type.Array(InputMessageSchema, { minItems: 1, maxItems: 50 })])),
    metadata: maybe(RunMetadataSchema),
    stream: maybe(Type.Boolean()),
    stream_options: Type.Optional(Type.Unknown({ description: 'No event is padded' })),
    vault_ids: unserved(),
    ...unservedOfSession
  },
  { title: 'CreateAgentSession', ...strict }
)
export type CreateSession = Static<typeof CreateSessionSchema>

/** The request of `POST /agents/sessions/:id`. */
export const UpdateSessionSchema = Type.Object(
  {
    agent: Type.Optional(AgentOverridesSchema),
    metadata: maybe(RunMetadataSchema),
    ...unservedOfSession
  },
  { title: 'UpdateAgentSession', ...strict }
)
export type UpdateSession = Static<typeof UpdateSessionSchema>

/** An event of a client: its fields are those of its type. */
export const InputEventSchema = Type.Object(
  {
    type: Type.String(),
    input: Type.Optional(
      Type.Array(InputMessageSchema, { minItems: 1, maxItems: 50, description: 'Of a message' })
    ),
    turn_id: Type.Optional(Type.String({ description: 'Of a tool result' })),
    call_id: Type.Optional(Type.String({ description: 'Of a tool result' })),
    success: Type.Optional(Type.Boolean({ description: 'Of a tool result' })),
    output: Type.Optional(
      Type.Unknown({ description: 'Of a tool result: a text, or a list of contents, or null' })
    ),
    error: maybe(Type.String({ description: 'Of a tool result that is no success' })),
    request_id: Type.Optional(Type.String({ description: 'Of the answer to an approval' })),
    response: Type.Optional(
      Type.Object(
        { type: Type.String(), decision: Type.Optional(Type.String()) },
        { description: 'Of the answer to an approval: `approve`, `deny` or `cancel`' }
      )
    )
  },
  { title: 'AgentSessionInput' }
)
export type InputEvent = Static<typeof InputEventSchema>
export const InputEventsSchema = Type.Object(
  { events: Type.Array(InputEventSchema, { minItems: 1, maxItems: 50 }) },
  { title: 'AgentSessionInputs', ...strict }
)

const id = Type.String({ minLength: 1, maxLength: 300 })
export const AgentParamsSchema = Type.Object({ agent_id: id })
export const SessionParamsSchema = Type.Object({ session_id: id })
export const ArtifactParamsSchema = Type.Object({ session_id: id, artifact_id: id })
export const TurnParamsSchema = Type.Object({ session_id: id, turn_id: id })
export const SubagentParamsSchema = Type.Object({ session_id: id, subagent_id: id })
export const AutomationParamsSchema = Type.Object({ automation_id: id })
export const InvocationParamsSchema = Type.Object({ automation_id: id, invocation_id: id })
export const SubagentTurnParamsSchema = Type.Object({ session_id: id, subagent_id: id, turn_id: id })

/** The page of a list. */
export const PageQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ description: 'The id before the page' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 20' })),
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], { description: 'Default `desc`' })
  )
})
export type PageQuery = Static<typeof PageQuerySchema>
export const SessionsQuerySchema = Type.Object({
  ...PageQuerySchema.properties,
  agent_id: Type.Optional(Type.String())
})
export const AutomationsQuerySchema = Type.Object({
  ...PageQuerySchema.properties,
  session_id: Type.Optional(Type.String({ description: 'Only those with this existing session' }))
})
export const ArtifactsQuerySchema = Type.Object({
  ...PageQuerySchema.properties,
  environment_id: Type.Optional(Type.String())
})
export const StreamQuerySchema = Type.Object({
  after: Type.Optional(
    Type.String({ description: 'The `id` of the last message that the client has; so does `Last-Event-ID`' })
  ),
  include_obfuscation: Type.Optional(Type.String({ description: 'No event is padded' }))
})

const failures = { '4xx': jsonReply('Refused', ErrorBodySchema), '5xx': jsonReply('Failed', ErrorBodySchema) }
const list = <T extends TSchema>(of: string, schema: T) => ({
  200: jsonReply(
    'A page',
    Type.Object(
      {
        object: Type.Literal('list'),
        data: Type.Array(schema),
        first_id: orNull(Type.String()),
        last_id: orNull(Type.String()),
        has_more: Type.Boolean()
      },
      { title: `${of}List` }
    )
  ),
  ...failures
})
const deleted = <const T extends string>(object: T) =>
  Type.Object({ id: Type.String(), object: Type.Literal(object), deleted: Type.Literal(true) })

/** The replies of the routes. */
export const REPLIES = {
  agent: { 200: jsonReply('The agent', AgentSchema), ...failures },
  agents: list('Agent', AgentSchema),
  session: { 200: jsonReply('The session', AgentSessionSchema), ...failures },
  created: {
    200: {
      description: 'The session, or its events if `stream` is true',
      content: {
        'application/json': { schema: AgentSessionSchema },
        'text/event-stream': { schema: AgentSessionEventSchema }
      }
    },
    ...failures
  },
  sessions: list('AgentSession', AgentSessionSchema),
  deleted: { 200: jsonReply('It is no longer kept', deleted('agent.session.deleted')), ...failures },
  accepted: { 202: { description: 'Accepted' }, ...failures },
  events: { 200: eventsReply('The events, live', AgentSessionEventSchema), ...failures },
  items: list('AgentSessionItem', SessionItemSchema),
  turn: { 200: jsonReply('The turn', TurnSchema), ...failures },
  turns: list('Turn', TurnSchema),
  subagent: { 200: jsonReply('The subagent', SubagentSchema), ...failures },
  subagents: list('Subagent', SubagentSchema),
  artifact: { 200: jsonReply('The artifact', SessionArtifactSchema), ...failures },
  artifacts: list('SessionArtifact', SessionArtifactSchema),
  artifactContent: { 200: bytesReply('The file'), '4xx': failures['4xx'] },
  automation: { 200: jsonReply('The automation', AutomationSchema), ...failures },
  automations: list('Automation', AutomationSchema),
  automationDeleted: {
    200: jsonReply('It is no longer kept', deleted('agent.automation.deleted')),
    ...failures
  },
  invocation: { 200: jsonReply('The invocation', InvocationSchema), ...failures },
  invocations: list('AutomationInvocation', InvocationSchema),
  refused: failures
}
