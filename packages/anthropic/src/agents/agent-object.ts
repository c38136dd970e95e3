import { Type, type Static } from '@sinclair/typebox'
import type { ClientTool, Runnable } from '@svc/contract'
import { toRunnableId } from '@svc/surface'

/** The version of every agent. */
export const VERSION = 1

/** Agents are registered when the service starts: they have no time of creation. */
export const SINCE = new Date(0).toISOString()

const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const none = Type.Array(Type.Never(), { maxItems: 0 })
const agent = Type.Literal('agent')
const version = Type.Integer({ description: 'Always 1' })

const CustomToolSchema = Type.Object(
  {
    type: Type.Literal('custom'),
    name: Type.String(),
    description: Type.String(),
    input_schema: Type.Unsafe<{ type: 'object'; [key: string]: unknown }>(
      Type.Object({}, { additionalProperties: true })
    )
  },
  { title: 'CustomTool' }
)

const common = {
  id: Type.String({ description: 'The name of an agent, `team/<name>` or `workflow/<name>`' }),
  type: agent,
  version,
  name: Type.String(),
  description: nullable(Type.String()),
  execution_identity: Type.Object({ type: Type.Literal('service_account') }),
  mcp_servers: none,
  model: Type.Object({ id: Type.String() }),
  skills: none,
  system: nullable(Type.String({ description: 'Never shown' })),
  tools: Type.Array(CustomToolSchema, { description: 'Tools that the client serves' })
}

/** An agent as a thread has it. */
export const ThreadAgentSchema = Type.Object(common, { title: 'ThreadAgent' })
export type ThreadAgent = Static<typeof ThreadAgentSchema>

const coordinator = <T extends Parameters<typeof Type.Array>[0]>(member: T) =>
  nullable(Type.Object({ type: Type.Literal('coordinator'), agents: Type.Array(member) }))

/** An agent as a session has it. */
export const SessionAgentSchema = Type.Object(
  { ...common, multiagent: coordinator(ThreadAgentSchema) },
  { title: 'SessionAgent' }
)
export type SessionAgent = Static<typeof SessionAgentSchema>

/** An agent of the list. */
export const AgentSchema = Type.Object(
  {
    ...common,
    multiagent: coordinator(Type.Object({ id: Type.String(), type: agent, version })),
    metadata: Type.Record(Type.String(), Type.String()),
    archived_at: Type.Null(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' })
  },
  { title: 'Agent' }
)
export type Agent = Static<typeof AgentSchema>

/** A runnable as an agent of the list. */
export function toAgent(runnable: Runnable): Agent {
  const { agents } = multiagentOf(runnable) ?? {}
  const references = agents?.map(({ id }) => ({ id, type: 'agent' as const, version: VERSION }))
  return {
    ...describe(runnable),
    multiagent: references === undefined ? null : { type: 'coordinator', agents: references },
    metadata: {},
    archived_at: null,
    created_at: SINCE,
    updated_at: SINCE
  }
}

/** A runnable as the agent of a session, with the tools of its client. */
export function toSessionAgent(runnable: Runnable, tools: readonly ClientTool[] = []): SessionAgent {
  return { ...describe(runnable, tools), multiagent: multiagentOf(runnable) }
}

/** A runnable that is known by its name only, such as a member of a team. */
export function toThreadAgent(id: string, name = id): ThreadAgent {
  return toCommon(id, { name })
}

function describe(runnable: Runnable, tools: readonly ClientTool[] = []): ThreadAgent {
  const { kind, name, description } = runnable
  const { model } = runnable.describe()
  return toCommon(toRunnableId(kind, name), { name, description, model, tools })
}

interface Described {
  readonly name: string
  readonly description?: string | undefined
  readonly model?: string | undefined
  readonly tools?: readonly ClientTool[]
}

function toCommon(id: string, { name, description = '', model = name, tools = [] }: Described): ThreadAgent {
  return {
    id,
    type: 'agent',
    version: VERSION,
    name,
    description: description === '' ? null : description,
    execution_identity: { type: 'service_account' },
    mcp_servers: [],
    model: { id: model },
    skills: [],
    system: null,
    tools: tools.map(toCustomTool)
  }
}

function toCustomTool({ name, description, input }: ClientTool): ThreadAgent['tools'][number] {
  return { type: 'custom', name, description, input_schema: { ...(input as object), type: 'object' } }
}

function multiagentOf(runnable: Runnable): SessionAgent['multiagent'] {
  const { members, steps } = runnable.describe()
  const names = members ?? steps
  return names === undefined
    ? null
    : { type: 'coordinator', agents: names.map((name) => toThreadAgent(name)) }
}
