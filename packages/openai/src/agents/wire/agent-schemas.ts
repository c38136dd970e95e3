import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { RunMetadataSchema } from '@svc/contract'

export const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

/** One of these texts. */
export const oneOf = <const T extends string>(...values: T[]) =>
  Type.Unsafe<T>({ type: 'string', enum: values })

const Seconds = Type.Integer({ description: 'Seconds since the epoch' })

/** A function that a client serves. */
export const AgentFunctionSchema = Type.Object(
  {
    type: Type.Literal('function'),
    name: Type.String(),
    description: Type.String(),
    parameters: Type.Record(Type.String(), Type.Unknown()),
    defer_loading: Type.Boolean()
  },
  { title: 'AgentFunction' }
)
export type AgentFunction = Static<typeof AgentFunctionSchema>

const agentFields = {
  id: Type.String({ description: 'The name of an agent, `team/<name>` or `workflow/<name>`' }),
  name: orNull(Type.String()),
  instructions: orNull(Type.String()),
  model: Type.String(),
  multi_agent: Type.Object({
    enabled: Type.Boolean(),
    max_concurrent_subagents: orNull(Type.Integer())
  }),
  reasoning: Type.Object({ effort: orNull(Type.String()), summary: orNull(Type.String()) }),
  service_tier: Type.Literal('auto'),
  text: Type.Object({
    format: Type.Object({
      type: oneOf('text', 'json_schema'),
      schema: Type.Optional(Type.Record(Type.String(), Type.Unknown()))
    }),
    verbosity: Type.Literal('medium')
  }),
  tools: Type.Array(AgentFunctionSchema)
}

/** An agent, a team or a workflow. */
export const AgentSchema = Type.Object(
  {
    ...agentFields,
    object: Type.Literal('agent'),
    created_at: Seconds,
    updated_at: Seconds,
    metadata: RunMetadataSchema
  },
  { title: 'Agent' }
)
export type AgentObject = Static<typeof AgentSchema>

/** Tokens. */
export const TokenUsageSchema = Type.Object(
  {
    input_tokens: Type.Number(),
    input_tokens_details: Type.Object({ cached_tokens: Type.Number() }),
    output_tokens: Type.Number(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Number() }),
    total_tokens: Type.Number()
  },
  { title: 'TokenUsage' }
)
export type TokenUsage = Static<typeof TokenUsageSchema>

const ApprovalActionSchema = Type.Object({
  type: Type.Literal('mcp_approval_request'),
  request_id: Type.String(),
  turn_id: Type.String(),
  request: Type.Object({
    type: Type.Literal('mcp_tool_call'),
    server_label: Type.String(),
    name: orNull(Type.String()),
    arguments: Type.Unknown(),
    message: Type.String()
  })
})
const CallActionSchema = Type.Object({
  type: Type.Literal('function_call'),
  call_id: Type.String(),
  turn_id: Type.String(),
  name: Type.String(),
  arguments: Type.Unknown()
})

/** What a session waits for. */
export const RequiredActionSchema = Type.Union([ApprovalActionSchema, CallActionSchema], {
  title: 'RequiredAction'
})
export type RequiredAction = Static<typeof RequiredActionSchema>

/** A session. */
export const AgentSessionSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('agent.session'),
    agent: Type.Object(agentFields),
    created_at: Seconds,
    last_active_at: Seconds,
    status: oneOf('idle', 'in_progress', 'requires_action'),
    required_actions: Type.Array(RequiredActionSchema),
    environment: Type.Object({ type: Type.Literal('none') }),
    error: orNull(Type.String()),
    metadata: RunMetadataSchema,
    usage: orNull(TokenUsageSchema),
    vault_ids: Type.Array(Type.String())
  },
  { title: 'AgentSession' }
)
export type AgentSession = Static<typeof AgentSessionSchema>
export type SessionStatus = AgentSession['status']

/** A file that a turn has made. */
export const SessionArtifactSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('agent.session.artifact'),
    session_id: Type.String(),
    turn_id: Type.String(),
    environment_id: Type.String({ description: '`none`: runs have no environments' }),
    path: Type.String({ description: 'Its name, behind a slash' }),
    size_bytes: Type.Integer(),
    created_at: Seconds
  },
  { title: 'SessionArtifact' }
)
export type SessionArtifact = Static<typeof SessionArtifactSchema>

/** Why a turn failed. */
const TurnErrorSchema = Type.Object({ code: Type.String(), message: Type.String() }, { title: 'TurnError' })

/** A turn of a session: a run, or what a member or a step did in it. */
export const TurnSchema = Type.Object(
  {
    id: Type.String({ description: 'Of a turn of the agent itself: the id of the run' }),
    object: Type.Literal('agent.session.turn'),
    session_id: Type.String(),
    agent_id: Type.String(),
    subagent_id: orNull(Type.String()),
    status: oneOf('queued', 'in_progress', 'waiting', 'completed', 'failed', 'cancelled'),
    created_at: Seconds,
    started_at: orNull(Seconds),
    completed_at: orNull(Seconds),
    error: orNull(TurnErrorSchema),
    usage: orNull(TokenUsageSchema)
  },
  { title: 'Turn' }
)
export type Turn = Static<typeof TurnSchema>

/** A member of a team, a step of a workflow, or an agent that another one calls. */
export const SubagentSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('agent.session.subagent'),
    session_id: Type.String(),
    parent_agent_id: Type.String(),
    name: orNull(Type.String()),
    instructions: Type.Null(),
    status: oneOf('active', 'closed'),
    opened_at: Seconds,
    closed_at: orNull(Seconds)
  },
  { title: 'Subagent' }
)
export type Subagent = Static<typeof SubagentSchema>
