import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { oneOf, orNull } from './agent-schemas.ts'

const place = { id: Type.String(), turn_id: Type.String() }
const callStatus = oneOf('in_progress', 'completed', 'failed', 'incomplete')
const itemStatus = oneOf('in_progress', 'completed', 'incomplete')

const item = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ ...place, type: Type.Literal(type), ...fields })

export const OutputTextSchema = Type.Object(
  { type: Type.Literal('output_text'), text: Type.String() },
  { title: 'OutputText' }
)
export const SummaryTextSchema = Type.Object(
  { type: Type.Literal('summary_text'), text: Type.String() },
  { title: 'SummaryText' }
)
export const InputContentSchema = Type.Union([
  Type.Object({ type: Type.Literal('input_text'), text: Type.String() }),
  Type.Object({ type: Type.Literal('input_image'), image_url: Type.String() })
])
export type InputContent = Static<typeof InputContentSchema>

/** A message of the user, as a client sends it. */
export const InputMessageSchema = Type.Object(
  {
    type: Type.Optional(Type.Literal('message')),
    role: Type.Literal('user'),
    content: Type.Array(Type.Object({ type: Type.String() }), { minItems: 1, maxItems: 100 })
  },
  { title: 'InputMessage' }
)
export type InputMessage = Static<typeof InputMessageSchema>

/** What the user says. */
const UserMessageSchema = item('message', {
  role: Type.Literal('user'),
  content: Type.Array(InputContentSchema),
  phase: Type.Null(),
  status: itemStatus
})
export type UserMessage = Static<typeof UserMessageSchema>

/** What an agent says. */
const AssistantMessageSchema = item('message', {
  role: Type.Literal('assistant'),
  content: Type.Array(OutputTextSchema),
  phase: orNull(oneOf('commentary', 'final_answer')),
  status: itemStatus
})
export type AssistantMessage = Static<typeof AssistantMessageSchema>

const ReasoningSchema = item('reasoning', {
  summary: Type.Array(SummaryTextSchema),
  status: orNull(itemStatus)
})
export type ReasoningItem = Static<typeof ReasoningSchema>

/** A call of a function that the client serves, or a question to the user. */
const FunctionCallSchema = item('function_call', {
  call_id: Type.String(),
  name: Type.String(),
  arguments: Type.Unknown(),
  status: callStatus
})
export type FunctionCall = Static<typeof FunctionCallSchema>

const FunctionOutputSchema = item('function_call_output', {
  call_id: Type.String(),
  output: orNull(Type.String()),
  error: orNull(Type.String()),
  status: callStatus
})

/** A call of a tool that the service executes. */
const McpCallSchema = item('mcp_call', {
  server_label: Type.String(),
  name: Type.String(),
  arguments: Type.Unknown(),
  output: Type.Unknown(),
  error: Type.Unknown(),
  status: callStatus
})
export type McpCall = Static<typeof McpCallSchema>

/** An item that the agent makes. */
export const OutputItemSchema = Type.Union(
  [AssistantMessageSchema, ReasoningSchema, FunctionCallSchema, McpCallSchema],
  { title: 'AgentOutputItem' }
)
export type OutputItem = Static<typeof OutputItemSchema>

/** An item of a session. */
export const SessionItemSchema = Type.Union(
  [
    UserMessageSchema,
    AssistantMessageSchema,
    ReasoningSchema,
    FunctionCallSchema,
    FunctionOutputSchema,
    McpCallSchema
  ],
  { title: 'AgentSessionItem' }
)
export type SessionItem = Static<typeof SessionItemSchema>
