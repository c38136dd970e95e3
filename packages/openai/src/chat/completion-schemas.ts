import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { RunMetadataSchema } from '@svc/contract'
import { jsonReply } from '@svc/surface'
import { ErrorBodySchema } from '../wire/error-body.ts'

const orNull = <T extends TSchema>(schema: T, description?: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], description === undefined ? {} : { description }))
const ignored = (description = 'Ignored: the agent decides') => Type.Optional(Type.Unknown({ description }))

const CalledFunctionSchema = Type.Object({
  name: Type.String(),
  arguments: Type.String({ description: 'JSON' })
})

/** A call of a tool of the client, in a message of the assistant. */
const ToolCallSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('function'),
    function: CalledFunctionSchema
  },
  { title: 'ChatToolCall' }
)
export type ToolCall = Static<typeof ToolCallSchema>

/** A message of the history; what is not listed is ignored. */
const MessageSchema = Type.Object(
  {
    role: Type.Union([
      Type.Literal('system'),
      Type.Literal('developer'),
      Type.Literal('user'),
      Type.Literal('assistant'),
      Type.Literal('tool'),
      Type.Literal('function')
    ]),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.Object({ type: Type.String() })), Type.Null()], {
        description: 'A text, or a list of parts: `text`, `image_url`, `input_audio`, `file`'
      })
    ),
    refusal: orNull(Type.String()),
    tool_calls: orNull(Type.Array(ToolCallSchema), 'Of an assistant'),
    tool_call_id: Type.Optional(Type.String({ description: 'Of a tool' })),
    function_call: orNull(CalledFunctionSchema, 'Of an assistant, with `functions`'),
    name: orNull(Type.String(), 'Of a function')
  },
  { title: 'ChatMessageParam' }
)
export type MessageParam = Static<typeof MessageSchema>

const FunctionSchema = Type.Object({
  name: Type.String(),
  description: orNull(Type.String()),
  parameters: orNull(Type.Record(Type.String(), Type.Unknown()), 'JSON Schema of the arguments')
})
const ToolSchema = Type.Object(
  {
    type: Type.String({ description: 'Only `function` is supported' }),
    function: Type.Optional(FunctionSchema)
  },
  { title: 'ChatTool' }
)

const FormatSchema = Type.Object(
  {
    type: Type.String({ description: '`text`, `json_schema` or `json_object`' }),
    json_schema: Type.Optional(
      Type.Object({ schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())) })
    )
  },
  { title: 'ChatResponseFormat' }
)

/** The request. Parameters that are not listed are ignored. */
export const CompletionBodySchema = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'An agent, or `team/<name>` or `workflow/<name>`' }),
    messages: Type.Array(MessageSchema, {
      minItems: 1,
      description:
        'The whole conversation. If it ends with the results of tool calls, the run that waits for them continues; else a run starts'
    }),
    stream: orNull(Type.Boolean()),
    stream_options: orNull(
      Type.Object({
        include_usage: orNull(Type.Boolean(), 'Whether a chunk before the end has the tokens')
      })
    ),
    tools: orNull(Type.Array(ToolSchema), 'Tools that the client serves'),
    tool_choice: Type.Optional(
      Type.Unknown({ description: '`auto`, `none`, `required`, a function, or `allowed_tools`' })
    ),
    functions: orNull(Type.Array(FunctionSchema), 'As `tools`, in their older form'),
    function_call: orNull(
      Type.Union([Type.Literal('auto'), Type.Literal('none'), Type.Object({ name: Type.String() })]),
      'As `tool_choice`, for `functions`'
    ),
    response_format: orNull(FormatSchema),
    metadata: orNull(RunMetadataSchema),
    n: orNull(Type.Integer(), 'Only 1 is supported'),
    stop: orNull(Type.Union([Type.String(), Type.Array(Type.String())]), 'Up to 4 texts that end the answer'),
    logprobs: orNull(Type.Boolean(), 'Not supported'),
    top_logprobs: orNull(Type.Integer(), 'Not supported'),
    modalities: orNull(Type.Array(Type.String()), 'Only `text` is supported'),
    audio: Type.Optional(Type.Unknown({ description: 'Not supported' })),
    web_search_options: Type.Optional(Type.Unknown({ description: 'Not supported' })),
    temperature: ignored(),
    top_p: ignored(),
    max_tokens: ignored(),
    max_completion_tokens: ignored(),
    frequency_penalty: ignored(),
    presence_penalty: ignored(),
    logit_bias: ignored(),
    seed: ignored(),
    reasoning_effort: ignored(),
    verbosity: ignored(),
    parallel_tool_calls: ignored(),
    prediction: ignored(),
    service_tier: ignored(),
    store: ignored('Ignored: runs are kept as the service decides, and no route reads completions'),
    user: ignored('Ignored: the token says who calls'),
    safety_identifier: ignored('Ignored: the token says who calls'),
    prompt_cache_key: ignored()
  },
  { title: 'ChatCompletionBody' }
)
export type CompletionBody = Static<typeof CompletionBodySchema>

/** A source of the answer, or a file that belongs to it. */
const AnnotationSchema = Type.Object(
  {
    type: Type.Literal('url_citation'),
    url_citation: Type.Object({
      url: Type.String(),
      title: Type.String(),
      start_index: Type.Integer(),
      end_index: Type.Integer()
    })
  },
  { title: 'ChatAnnotation' }
)
export type Annotation = Static<typeof AnnotationSchema>

const FinishReasonSchema = Type.Union(
  [
    Type.Literal('stop'),
    Type.Literal('length'),
    Type.Literal('tool_calls'),
    Type.Literal('function_call'),
    Type.Literal('content_filter')
  ],
  { title: 'ChatFinishReason' }
)
export type ChatFinishReason = Static<typeof FinishReasonSchema>

/** The tokens of a completion. */
const UsageSchema = Type.Object(
  {
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Integer(),
    total_tokens: Type.Integer(),
    prompt_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
    completion_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() })
  },
  { title: 'CompletionUsage' }
)
export type CompletionUsage = Static<typeof UsageSchema>

const about = {
  id: Type.String(),
  created: Type.Integer({ description: 'Seconds since the epoch' }),
  model: Type.String()
}
const choice = { index: Type.Literal(0), logprobs: Type.Null() }

export const CompletionSchema = Type.Object(
  {
    ...about,
    object: Type.Literal('chat.completion'),
    choices: Type.Array(
      Type.Object({
        ...choice,
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: Type.Union([Type.String(), Type.Null()]),
          refusal: Type.Null(),
          reasoning_content: Type.Optional(Type.String()),
          annotations: Type.Array(AnnotationSchema),
          tool_calls: Type.Optional(Type.Array(ToolCallSchema)),
          function_call: Type.Optional(CalledFunctionSchema)
        }),
        finish_reason: FinishReasonSchema
      })
    ),
    usage: UsageSchema
  },
  { title: 'ChatCompletion' }
)
export type Completion = Static<typeof CompletionSchema>

const DeltaSchema = Type.Object(
  {
    role: Type.Optional(Type.Literal('assistant')),
    content: Type.Optional(Type.String()),
    reasoning_content: Type.Optional(Type.String()),
    annotations: Type.Optional(Type.Array(AnnotationSchema, { description: 'All of them, at the end' })),
    tool_calls: Type.Optional(
      Type.Array(Type.Composite([ToolCallSchema, Type.Object({ index: Type.Integer() })]), {
        description: 'Each whole, at the end'
      })
    ),
    function_call: Type.Optional(CalledFunctionSchema)
  },
  { title: 'ChatDelta', additionalProperties: false }
)
export type Delta = Static<typeof DeltaSchema>

/** A message of the stream, unless it is an error. */
export const ChunkSchema = Type.Object(
  {
    ...about,
    object: Type.Literal('chat.completion.chunk'),
    choices: Type.Array(
      Type.Object({
        ...choice,
        delta: DeltaSchema,
        finish_reason: Type.Union([FinishReasonSchema, Type.Null()])
      }),
      { maxItems: 1, description: 'Empty in the chunk with the usage' }
    ),
    usage: orNull(UsageSchema, 'If the request includes it: null but in the last chunk')
  },
  { title: 'ChatCompletionChunk' }
)
export type Chunk = Static<typeof ChunkSchema>

/** The replies of the route. */
export const COMPLETION_REPLIES = {
  200: {
    description: 'The completion; if `stream` is true its chunks, then `[DONE]`',
    content: {
      'application/json': { schema: CompletionSchema },
      'text/event-stream': { schema: Type.Union([ChunkSchema, ErrorBodySchema]) }
    }
  },
  '4xx': jsonReply('Refused', ErrorBodySchema),
  '5xx': jsonReply('Failed', ErrorBodySchema)
}
