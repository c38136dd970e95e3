import { Type, type TSchema } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'

// The components of Open Responses, version 2026-04-24, that this service sends, with every field that they require.
// https://www.openresponses.org/openapi/openapi.json

const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const oneOf = (...values: string[]) => Type.Union(values.map((value) => Type.Literal(value)))
const NullableString = orNull(Type.String())
const ItemStatus = oneOf('in_progress', 'completed', 'incomplete')

const Annotation = Type.Object({
  type: Type.Literal('url_citation'),
  url: Type.String(),
  start_index: Type.Integer(),
  end_index: Type.Integer(),
  title: Type.String()
})
const OutputText = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(Annotation),
  logprobs: Type.Optional(Type.Array(Type.Never()))
})
const ReasoningText = Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() })
const Content = Type.Union([OutputText, ReasoningText])

const Message = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  status: ItemStatus,
  role: oneOf('user', 'assistant', 'system', 'developer'),
  content: Type.Array(Content),
  phase: Type.Optional(oneOf('commentary', 'final_answer'))
})
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String(),
  call_id: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  arguments: Type.String(),
  status: ItemStatus
})
/** Of OpenAI's API, as are approvals: Open Responses has no item for calls that the service executes. */
const McpCall = Type.Object({
  type: Type.Literal('mcp_call'),
  id: Type.String(),
  status: Type.Union([ItemStatus, Type.Literal('failed')]),
  approval_request_id: NullableString,
  server_label: Type.String({ minLength: 1 }),
  name: Type.String({ minLength: 1 }),
  arguments: Type.String(),
  output: NullableString,
  error: NullableString
})
const Reasoning = Type.Object({
  type: Type.Literal('reasoning'),
  id: Type.String(),
  content: Type.Optional(Type.Array(Content)),
  summary: Type.Array(Content)
})
const ApprovalRequest = Type.Object({
  type: Type.Literal('mcp_approval_request'),
  id: Type.String(),
  server_label: Type.String(),
  name: Type.String(),
  arguments: Type.String()
})
const Item = Type.Union([Message, FunctionCall, McpCall, Reasoning, ApprovalRequest])

const Usage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0 }),
  output_tokens: Type.Integer({ minimum: 0 }),
  total_tokens: Type.Integer({ minimum: 0 }),
  input_tokens_details: Type.Object({ cached_tokens: Type.Integer({ minimum: 0 }) }),
  output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer({ minimum: 0 }) })
})
const Tool = Type.Object({
  type: Type.Literal('function'),
  name: Type.String(),
  description: NullableString,
  parameters: orNull(Type.Object({})),
  strict: orNull(Type.Boolean())
})
const Format = Type.Union([
  Type.Object({ type: oneOf('text', 'json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: Type.String(),
    description: NullableString,
    schema: orNull(Type.Object({})),
    strict: Type.Boolean()
  })
])
const ResponseResource = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  completed_at: orNull(Type.Integer()),
  status: oneOf('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled'),
  incomplete_details: orNull(Type.Object({ reason: Type.String() })),
  model: Type.String(),
  previous_response_id: NullableString,
  instructions: NullableString,
  output: Type.Array(Item),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  tools: Type.Array(Tool),
  tool_choice: oneOf('none', 'auto', 'required'),
  truncation: oneOf('auto', 'disabled'),
  parallel_tool_calls: Type.Boolean(),
  text: Type.Object({ format: Format }),
  top_p: Type.Number(),
  presence_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  top_logprobs: Type.Integer(),
  temperature: Type.Number(),
  reasoning: orNull(Type.Object({ effort: NullableString, summary: NullableString })),
  user: NullableString,
  usage: orNull(Usage),
  max_output_tokens: orNull(Type.Integer()),
  max_tool_calls: orNull(Type.Integer()),
  store: Type.Boolean(),
  background: Type.Boolean(),
  service_tier: Type.String(),
  metadata: Type.Record(Type.String(), Type.String()),
  safety_identifier: NullableString,
  prompt_cache_key: NullableString
})

const index = Type.Integer({ minimum: 0 })
const inItem = { item_id: Type.String(), output_index: index }
const inContent = { ...inItem, content_index: index }
const logprobs = Type.Optional(Type.Array(Type.Never()))
const lifecycle = { response: ResponseResource }
const item = { output_index: index, item: Item }

const FIELDS: Readonly<Record<string, Record<string, TSchema>>> = {
  'response.created': lifecycle,
  'response.queued': lifecycle,
  'response.in_progress': lifecycle,
  'response.completed': lifecycle,
  'response.failed': lifecycle,
  'response.incomplete': lifecycle,
  'response.output_item.added': item,
  'response.output_item.done': item,
  'response.content_part.added': { ...inContent, part: Content },
  'response.content_part.done': { ...inContent, part: Content },
  'response.output_text.delta': { ...inContent, delta: Type.String(), logprobs },
  'response.output_text.done': { ...inContent, text: Type.String(), logprobs },
  'response.output_text.annotation.added': { ...inContent, annotation_index: index, annotation: Annotation },
  'response.function_call_arguments.delta': { ...inItem, delta: Type.String() },
  'response.function_call_arguments.done': { ...inItem, arguments: Type.String() },
  'response.mcp_call.in_progress': inItem,
  'response.mcp_call.completed': inItem,
  'response.mcp_call.failed': inItem,
  'response.mcp_call_arguments.delta': { ...inItem, delta: Type.String() },
  'response.mcp_call_arguments.done': { ...inItem, arguments: Type.String() },
  // As OpenAI's clients know them; Open Responses names them `response.reasoning.delta` and `response.reasoning.done`.
  'response.reasoning_text.delta': { ...inContent, delta: Type.String() },
  'response.reasoning_text.done': { ...inContent, text: Type.String() }
}
const checks = new Map(
  Object.entries(FIELDS).map(([type, fields]) => [
    type,
    TypeCompiler.Compile(
      Type.Object({ type: Type.Literal(type), sequence_number: Type.Integer({ minimum: 0 }), ...fields })
    )
  ])
)
const responseCheck = TypeCompiler.Compile(ResponseResource)

/** Why an event does not fit its component; undefined if it does. */
export function findEventFault(event: { readonly type: string }): string | undefined {
  const check = checks.get(event.type)
  if (check === undefined) return `no component for ${event.type}`
  const first = check.Errors(event).First()
  return first && `${event.type}${first.path}: ${first.message}`
}

/** Why a response does not fit its component; undefined if it does. */
export function findResponseFault(response: unknown): string | undefined {
  const first = responseCheck.Errors(response).First()
  return first && `response${first.path}: ${first.message}`
}
