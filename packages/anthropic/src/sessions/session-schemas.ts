import { Type, type Static } from '@sinclair/typebox'
import { IdSchema, RunMetadataSchema, MetadataValueSchema } from '@svc/contract'
import { SessionAgentSchema } from '../agents/agent-object.ts'
import { UserMessageSchema } from '../wire/events.ts'
import { CREATED, listQueryOf, pageBothWays, queryOf, repeated } from '../wire/lists.ts'

const time = Type.String({ format: 'date-time' })
const nullable = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]))
const metadata = Type.Record(Type.String(), Type.String())
const none = Type.Array(Type.Never(), { maxItems: 0 })
const tokens = Type.Optional(Type.Integer())

/** The tokens of a session or of a thread. */
export const UsageSchema = Type.Object(
  {
    input_tokens: tokens,
    output_tokens: tokens,
    cache_read_input_tokens: tokens,
    cache_creation: Type.Optional(Type.Object({ ephemeral_5m_input_tokens: tokens }))
  },
  { title: 'Usage' }
)

export const StatusSchema = Type.Union([
  Type.Literal('rescheduling'),
  Type.Literal('running'),
  Type.Literal('idle'),
  Type.Literal('terminated')
])

export const SessionSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('session'),
    agent: SessionAgentSchema,
    environment_id: Type.String(),
    status: StatusSchema,
    title: Type.Union([Type.String(), Type.Null()]),
    metadata,
    created_at: time,
    updated_at: time,
    archived_at: Type.Union([time, Type.Null()]),
    budget: Type.Null(),
    deployment_id: Type.Union([Type.String(), Type.Null()], {
      description: 'The deployment that began it, as long as its first run is kept'
    }),
    outcome_evaluations: none,
    resources: none,
    vault_ids: none,
    stats: Type.Object({}),
    usage: UsageSchema
  },
  { title: 'Session' }
)
export type SessionObject = Static<typeof SessionSchema>
export const SessionsSchema = pageBothWays(SessionSchema, 'Sessions')

export const SessionParamsSchema = Type.Object({ session_id: IdSchema })
export type SessionParams = Static<typeof SessionParamsSchema>
export const NoQuerySchema = queryOf({})

export const SessionsQuerySchema = listQueryOf({
  ...CREATED,
  agent_id: Type.Optional(Type.String()),
  agent_version: Type.Optional(Type.Integer()),
  deployment_id: Type.Optional(Type.String()),
  memory_store_id: Type.Optional(Type.String()),
  include_archived: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
  order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
  statuses: repeated(StatusSchema),
  'statuses[]': repeated(StatusSchema)
})
export type SessionsQuery = Static<typeof SessionsQuerySchema>

/** A tool that a client gives to the agent; toolsets are refused. */
export const GivenToolSchema = Type.Union([
  Type.Object(
    {
      type: Type.Literal('custom'),
      name: Type.String(),
      description: Type.String(),
      input_schema: Type.Unsafe<Record<string, unknown>>(Type.Object({}, { additionalProperties: true }))
    },
    { additionalProperties: false }
  ),
  Type.Object(
    { type: Type.Union([Type.Literal('agent_toolset_20260401'), Type.Literal('mcp_toolset')]) },
    { additionalProperties: true }
  )
])
const tools = Type.Optional(Type.Array(GivenToolSchema, { maxItems: 128 }))
const list = Type.Optional(Type.Array(Type.Unknown(), { maxItems: 1_000 }))
const version = Type.Optional(Type.Integer())

export const AgentReferenceSchema = Type.Union([
  Type.String(),
  Type.Object({ type: Type.Literal('agent'), id: Type.String(), version }, { additionalProperties: false }),
  Type.Object(
    {
      type: Type.Literal('agent_with_overrides'),
      id: Type.String(),
      version,
      tools,
      system: nullable(Type.String({ maxLength: 100_000 })),
      model: Type.Optional(Type.Unknown()),
      mcp_servers: list,
      skills: list
    },
    { additionalProperties: false }
  )
])
export type AgentReference = Static<typeof AgentReferenceSchema>

const InitialEventSchema = Type.Union([
  UserMessageSchema,
  Type.Object({ type: Type.Literal('user.define_outcome') }, { additionalProperties: true })
])

export const NewSessionSchema = Type.Object(
  {
    agent: AgentReferenceSchema,
    environment_id: Type.String(),
    title: nullable(Type.String()),
    metadata: Type.Optional(RunMetadataSchema),
    initial_events: Type.Optional(Type.Array(InitialEventSchema, { maxItems: 50 })),
    budget: nullable(Type.Unknown()),
    resources: list,
    vault_ids: list
  },
  { title: 'NewSession', additionalProperties: false }
)
export type NewSession = Static<typeof NewSessionSchema>

export const SessionUpdateSchema = Type.Object(
  {
    title: nullable(Type.String()),
    metadata: nullable(Type.Record(Type.String(), Type.Union([MetadataValueSchema, Type.Null()]))),
    agent: Type.Optional(Type.Object({ tools, mcp_servers: list }, { additionalProperties: false })),
    budget: Type.Optional(Type.Unknown()),
    vault_ids: list
  },
  { title: 'SessionUpdate', additionalProperties: false }
)
export type SessionUpdate = Static<typeof SessionUpdateSchema>
