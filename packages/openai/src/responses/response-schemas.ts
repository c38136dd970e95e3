import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { IdSchema, RunMetadataSchema } from '@svc/contract'
import { jsonReply } from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import { ErrorBodySchema } from '../wire/error-body.ts'

const orNull = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const NullableString = orNull(Type.String())

const ofItem = (description: string) => Type.Optional(Type.Unknown({ description }))

/** An item of the input: its fields are checked by its type, since those of other types may be anything. */
export const InputItemSchema = Type.Object(
  {
    type: Type.Optional(
      Type.String({ description: 'Default `message`; types that are not known are ignored' })
    ),
    id: ofItem('Of an `mcp_call`, and of the item that an `item_reference` names'),
    role: ofItem('Of a message: `user`, `assistant`, `system` or `developer`; default `user`'),
    content: ofItem('Of a message: a text, or a list of parts'),
    phase: ofItem('Of a message of the assistant: `commentary` or `final_answer`'),
    call_id: ofItem('Of a `function_call` and its `function_call_output`'),
    name: ofItem('Of a `function_call` and an `mcp_call`'),
    arguments: ofItem('Of a `function_call` and an `mcp_call`: JSON'),
    output: ofItem('Of a `function_call_output`: a text, or a list of parts; of an `mcp_call`: a text'),
    error: ofItem('Of an `mcp_call`'),
    approval_request_id: ofItem('Of an `mcp_approval_response`'),
    approve: ofItem('Of an `mcp_approval_response`: a boolean'),
    reason: ofItem('Of an `mcp_approval_response`: a text'),
    status: ofItem('Of a `function_call_output`: `incomplete` declines')
  },
  { title: 'InputItem' }
)
export type InputItem = Static<typeof InputItemSchema>

/** A tool that the client serves. */
export const FunctionToolSchema = Type.Object(
  {
    type: Type.Literal('function'),
    name: Type.Optional(Type.String()),
    description: NullableString,
    parameters: orNull(
      Type.Record(Type.String(), Type.Unknown(), { description: 'JSON Schema of the arguments' })
    ),
    strict: orNull(Type.Boolean())
  },
  { title: 'FunctionTool' }
)
export type FunctionTool = Static<typeof FunctionToolSchema>

/** A tool that the provider serves, or a kind of tools that this service does not know: it has no effect. */
const OtherToolSchema = Type.Object(
  { type: Type.String({ pattern: '^(?!function$)' }) },
  { title: 'OtherTool', description: 'Ignored' }
)

/** A format of the answer. */
export const TextFormatSchema = Type.Object(
  {
    type: Type.String({ description: '`text`, `json_object` or `json_schema`' }),
    name: Type.Optional(Type.String()),
    description: NullableString,
    schema: orNull(Type.Record(Type.String(), Type.Unknown())),
    strict: orNull(Type.Boolean())
  },
  { title: 'TextFormat' }
)
export type TextFormat = Static<typeof TextFormatSchema>

/** Parameters that the response repeats, and that have no other effect: the agent has its own. */
const REPEATED_ONLY = {
  frequency_penalty: orNull(Type.Number()),
  max_output_tokens: orNull(Type.Integer()),
  max_tool_calls: orNull(Type.Integer()),
  parallel_tool_calls: orNull(Type.Boolean()),
  presence_penalty: orNull(Type.Number()),
  prompt_cache_key: NullableString,
  reasoning: orNull(Type.Object({})),
  safety_identifier: NullableString,
  service_tier: NullableString,
  temperature: orNull(Type.Number()),
  top_logprobs: orNull(Type.Integer()),
  top_p: orNull(Type.Number()),
  truncation: orNull(Type.Union([Type.Literal('auto'), Type.Literal('disabled')])),
  user: NullableString
}

/** The request of `POST /responses`. Parameters that are not listed are ignored. */
export const ResponseBodySchema = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An agent, or `team/<name>` or `workflow/<name>`' }),
    input: Type.Union([Type.String(), Type.Array(InputItemSchema, { minItems: 1, maxItems: 2_000 })]),
    instructions: NullableString,
    stream: orNull(Type.Boolean()),
    background: orNull(Type.Boolean()),
    store: orNull(
      Type.Boolean({ description: 'If false, no later request finds the response; not with `background`' })
    ),
    previous_response_id: NullableString,
    conversation: Type.Optional(
      Type.Union([IdSchema, Type.Object({ id: IdSchema }), Type.Null()], {
        description: 'A session; not together with `previous_response_id`'
      })
    ),
    metadata: orNull(RunMetadataSchema),
    tools: orNull(Type.Array(Type.Union([FunctionToolSchema, OtherToolSchema]))),
    tool_choice: Type.Optional(
      Type.Unknown({ description: '`auto`, `none`, `required`, a function, or `allowed_tools`' })
    ),
    stop: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()], {
        description: 'Up to 4 texts that end the answer'
      })
    ),
    text: orNull(Type.Object({ format: orNull(TextFormatSchema) })),
    ...REPEATED_ONLY
  },
  { title: 'ResponseBody' }
)
export type ResponseBody = Static<typeof ResponseBodySchema>

/** The input of a request as items. */
export function toItems(input: ResponseBody['input']): readonly InputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input
}

/** The tools of a request that its client serves. */
export function functionsOf({ tools }: Pick<ResponseBody, 'tools'>): FunctionTool[] | undefined {
  return tools?.flatMap((tool) => (tool.type === 'function' ? [tool as FunctionTool] : []))
}

/** A request for a response. */
export type CreateRequest = FastifyRequest<{ Body: ResponseBody }>

export const ResponseParamsSchema = Type.Object({ id: Type.String({ minLength: 1, maxLength: 300 }) })
export type ResponseParams = Static<typeof ResponseParamsSchema>

export const RetrieveQuerySchema = Type.Object({
  stream: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Only the events after this `sequence_number`' })
  )
})
export type RetrieveQuery = Static<typeof RetrieveQuerySchema>

export const ItemsQuerySchema = Type.Object({
  after: Type.Optional(Type.String({ description: 'The id of the item before the page' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default 20' })),
  order: Type.Optional(
    Type.Union([Type.Literal('asc'), Type.Literal('desc')], { description: 'Default `desc`' })
  )
})
export type ItemsQuery = Static<typeof ItemsQuerySchema>

/** A response: further fields are those of Open Responses. */
const ResponseSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('response'),
    created_at: Type.Integer(),
    status: Type.String(),
    model: Type.String(),
    output: Type.Array(Type.Object({ type: Type.String() }))
  },
  { title: 'Response' }
)
const ItemListSchema = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(Type.Unknown()),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Boolean()
  },
  { title: 'ItemList' }
)
const DeletedSchema = Type.Object(
  { id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) },
  { title: 'DeletedResponse' }
)

const failures = { '4xx': jsonReply('Refused', ErrorBodySchema), '5xx': jsonReply('Failed', ErrorBodySchema) }

/** The replies of each route. */
export const REPLIES = {
  response: {
    200: {
      description: 'The response, or its events if `stream` is true',
      content: {
        'application/json': { schema: ResponseSchema },
        'text/event-stream': { schema: Type.Object({ type: Type.String(), sequence_number: Type.Integer() }) }
      }
    },
    ...failures
  },
  items: { 200: jsonReply('What the response was asked', ItemListSchema), ...failures },
  deleted: { 200: jsonReply('It is no longer kept', DeletedSchema), ...failures },
  canceled: { 200: jsonReply('The response', ResponseSchema), ...failures }
}
