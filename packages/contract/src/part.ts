import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { RunnableKindSchema } from './names.ts'

/** A piece of text. */
export const TextContentPartSchema = Type.Object(
  { type: Type.Literal('text'), text: Type.String() },
  { additionalProperties: false }
)

const NAME = String.raw`[\w!#$&^.+-]+`

/** The pattern of a media type, with parameters: RFC 6838, section 4.2. */
export const MIME_TYPE = String.raw`${NAME}/${NAME}(?:[ \t]*;[ \t]*${NAME}=(?:${NAME}|"[^"\r\n]*"))*`

const media = {
  mimeType: Type.String({
    maxLength: 255,
    pattern: `^${MIME_TYPE}$`,
    description: 'A media type: `image/png`'
  }),
  filename: Type.Optional(Type.String({ maxLength: 1024 }))
}
const mediaType = Type.Union([Type.Literal('image'), Type.Literal('audio'), Type.Literal('file')])

/** Binary content, given as base64 in `data`. */
export const DataContentPartSchema = Type.Object(
  // A single character class: a repeated group would need a stack as deep as the data is long.
  {
    type: mediaType,
    ...media,
    data: Type.String({ pattern: '^(?:[A-Za-z0-9+/]+={0,2})?$', description: 'Base64, RFC 4648, section 4' })
  },
  { additionalProperties: false }
)

/** Binary content, given by its URL. */
export const UrlContentPartSchema = Type.Object(
  { type: mediaType, ...media, url: Type.String({ minLength: 1, maxLength: 8192 }) },
  { additionalProperties: false }
)

/** One piece of a multi-modal message. */
export const ContentPartSchema = Type.Union(
  [TextContentPartSchema, DataContentPartSchema, UrlContentPartSchema],
  { title: 'ContentPart' }
)
export type ContentPart = Static<typeof ContentPartSchema>

/** A client's message to an agent or team: a text, or a list of content parts. Neither may be empty or blank. */
export const MessageInputSchema = Type.Union(
  [Type.String({ pattern: String.raw`\S` }), Type.Array(ContentPartSchema, { minItems: 1 })],
  { title: 'MessageInput' }
)
export type MessageInput = Static<typeof MessageInputSchema>

/** The content of an uploaded file; readable any number of times until the run ends. */
export interface FileContent {
  /** Bytes. */
  readonly size: number
  /** The SHA-256 of the content in hexadecimal digits, if it is known without reading it. */
  readonly sha256?: string
  /** Reads the content from its start. */
  stream(): AsyncIterable<Uint8Array>
}

/** Uploaded binary content, on disk. Clients cannot send it as JSON. */
export const FileContentPartSchema = Type.Object(
  {
    type: mediaType,
    ...media,
    file: Type.Unsafe<FileContent>(
      Type.Object({
        size: Type.Integer({ minimum: 0 }),
        sha256: Type.Optional(Type.String()),
        stream: Type.Function([], Type.Unknown())
      })
    )
  },
  { additionalProperties: false }
)
export type FileContentPart = Static<typeof FileContentPartSchema>

/** Input of agents and teams: a client's message, or one with uploaded files. */
export const AcceptedMessageSchema = Type.Union([
  MessageInputSchema,
  Type.Array(Type.Union([ContentPartSchema, FileContentPartSchema]), { minItems: 1 })
])
export type AcceptedMessage = Static<typeof AcceptedMessageSchema>

/** Input of a runnable: a message, or any JSON value that fits its own `inputSchema`. */
export type RunInput = AcceptedMessage | unknown

/** Whether a text says nothing. */
export function isBlank(text: string): boolean {
  return !/\S/.test(text)
}

/** The text of an input: a string as it is, the text parts of a list joined by newlines, any other value as JSON. */
export function textOfInput(input: RunInput): string {
  if (typeof input === 'string') return input
  if (!Array.isArray(input)) return JSON.stringify(input) ?? ''
  return input
    .filter((part): part is Static<typeof TextContentPartSchema> => part?.type === 'text')
    .map((part) => part.text)
    .join('\n')
}

// No control characters.
// oxlint-disable-next-line no-control-regex -- control characters are what it excludes
const KEY = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,64}$'

/** A value of metadata. */
export const MetadataValueSchema = Type.String({ maxLength: 512 })

/** Texts that a caller attaches to a run: at most 16, keys of 1–64 and values of at most 512 characters. */
export const RunMetadataSchema = Type.Record(Type.String({ pattern: KEY }), MetadataValueSchema, {
  title: 'RunMetadata',
  maxProperties: 16,
  additionalProperties: false,
  description: 'Your own texts: keys of 1–64 characters, values of at most 512'
})
export type RunMetadata = Readonly<Static<typeof RunMetadataSchema>>

/** Selects the runs whose metadata has this value under this key. */
export interface MetadataFilter {
  key: string
  value: string
}

/** True if metadata has the value of a filter under its key. */
export function hasMetadata(metadata: RunMetadata | null, { key, value }: MetadataFilter): boolean {
  return metadata !== null && Object.hasOwn(metadata, key) && metadata[key] === value
}

/** No metadata. */
export const NO_METADATA: RunMetadata = Object.freeze({})

/**
 * Tokens used, summed over every model call of a run, those of members and steps included. The optional ones are absent, not 0,
 * where no provider reported them.
 */
export const UsageSchema = Type.Object(
  {
    promptTokens: Type.Number(),
    completionTokens: Type.Number(),
    totalTokens: Type.Number(),
    cachedPromptTokens: Type.Optional(Type.Number({ description: 'Prompt tokens read from a cache' })),
    cacheWriteTokens: Type.Optional(Type.Number({ description: 'Prompt tokens written to a cache' })),
    reasoningTokens: Type.Optional(Type.Number({ description: 'Completion tokens spent on reasoning' }))
  },
  { title: 'Usage' }
)
export type Usage = Static<typeof UsageSchema>

/** The fields that only some providers report. */
const OPTIONAL = ['cachedPromptTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** Zero tokens. */
export const ZERO_USAGE: Readonly<Usage> = Object.freeze({
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0
})

/** Adds up two usages; what neither has is left out. The second may be unknown. */
export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (b === undefined) return a
  const sum: Usage = {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    totalTokens: a.totalTokens + b.totalTokens
  }
  for (const field of OPTIONAL)
    if (a[field] !== undefined || b[field] !== undefined) sum[field] = (a[field] ?? 0) + (b[field] ?? 0)
  return sum
}

/** Returns a copy without other fields. */
export function copyUsage(usage: Usage): Usage {
  const { promptTokens, completionTokens, totalTokens } = usage
  const copy: Usage = { promptTokens, completionTokens, totalTokens }
  for (const field of OPTIONAL) if (usage[field] !== undefined) copy[field] = usage[field]
  return copy
}

/** Why a run ended without failing. */
export const FinishReasonSchema = Type.Union(
  [
    Type.Literal('stop'),
    Type.Literal('length'),
    Type.Literal('content-filter'),
    Type.Literal('max-steps'),
    Type.Literal('canceled'),
    Type.Literal('other')
  ],
  { title: 'FinishReason' }
)
export type FinishReason = Static<typeof FinishReasonSchema>

/** Why a model call ended. */
const StepFinishReasonSchema = Type.Union(
  [
    Type.Literal('stop'),
    Type.Literal('length'),
    Type.Literal('content-filter'),
    Type.Literal('tool-calls'),
    Type.Literal('other')
  ],
  { title: 'StepFinishReason' }
)
export type StepFinishReason = Static<typeof StepFinishReasonSchema>

/** The model of a step. */
const StepModelSchema = Type.Object(
  { provider: Type.String(), modelId: Type.String() },
  { title: 'StepModel' }
)
export type StepModel = Static<typeof StepModelSchema>

/** Why a prompt was compacted: by its size, because the provider refused it as too long, or because its owner asked. */
export const CompactionReasonSchema = Type.Union(
  [Type.Literal('size'), Type.Literal('overflow'), Type.Literal('asked')],
  { title: 'CompactionReason' }
)
export type CompactionReason = Static<typeof CompactionReasonSchema>

/** An error as clients see it. `code` is stable; `retryable` means that the same call may succeed later. */
export const PartErrorSchema = Type.Object(
  { code: Type.String(), message: Type.String(), retryable: Type.Boolean() },
  { title: 'PartError' }
)
export type PartError = Static<typeof PartErrorSchema>

/** An error of a tool; the model sees it too and may correct its call. */
export const ToolErrorSchema = Type.Object(
  { code: Type.String(), message: Type.String() },
  { title: 'ToolError' }
)
export type ToolError = Static<typeof ToolErrorSchema>

/** How an input was answered: `cancel` also if no answer came in time. */
export const InputActionSchema = Type.Union(
  [Type.Literal('accept'), Type.Literal('decline'), Type.Literal('cancel')],
  { title: 'InputAction' }
)
export type InputAction = Static<typeof InputActionSchema>

const common = {
  source: Type.Optional(Type.Array(Type.String(), { description: 'Path of member or step names' }))
}
const call = {
  toolCallId: Type.String(),
  toolName: Type.String(),
  parentToolCallId: Type.Optional(Type.String({ description: 'The tool call that made this one' }))
}
const execution = {
  runsAt: Type.Optional(Type.Literal('client', { description: 'The caller of the run serves this tool' })),
  mayAsk: Type.Optional(
    Type.Literal(true, { description: 'The call may wait for an approval before it is executed' })
  )
}
const providerExecuted = {
  providerExecuted: Type.Optional(Type.Literal(true, { description: 'The model provider executed it' }))
}
const definePart = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields, ...common }, { title: `Part ${type}` })

/** The parts by their `type`: the whole vocabulary of a run's log. */
export const PART_SCHEMAS = {
  start: definePart('start', {
    runId: Type.String(),
    sessionId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String(),
    input: Type.Optional(
      Type.Unknown({ description: 'What the run was asked; binary content by reference' })
    ),
    metadata: Type.Optional(RunMetadataSchema),
    afterTurn: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'The run of the session after whose turn this one continues, if its caller named one'
      })
    ),
    queued: Type.Optional(
      Type.Literal(true, { description: 'The run waits until earlier runs of its session have ended' })
    ),
    parent: Type.Optional(
      Type.Object(
        { runId: Type.String(), seq: Type.Integer() },
        { description: 'The place in another run’s log where this run forks off' }
      )
    )
  }),
  text: definePart('text', { text: Type.String({ description: 'An increment' }) }),
  reasoning: definePart('reasoning', { text: Type.String({ description: 'An increment' }) }),
  'tool.call.delta': definePart('tool.call.delta', {
    ...call,
    ...execution,
    delta: Type.String({ description: 'An increment of the JSON of the arguments' })
  }),
  'tool.call': definePart('tool.call', {
    ...call,
    args: Type.Unknown(),
    ...execution,
    ...providerExecuted
  }),
  'tool.approval.request': definePart('tool.approval.request', {
    approvalId: Type.String(),
    ...call,
    args: Type.Unknown(),
    expiresAt: Type.String({ format: 'date-time' })
  }),
  'tool.approval.response': definePart('tool.approval.response', {
    approvalId: Type.String(),
    toolCallId: Type.String(),
    approved: Type.Boolean(),
    reason: Type.Optional(Type.String()),
    args: Type.Optional(Type.Unknown({ description: 'The arguments, if the answer edited them' }))
  }),
  'tool.result': definePart('tool.result', {
    ...call,
    result: Type.Unknown(),
    durationMs: Type.Number({ description: 'Milliseconds' }),
    ...providerExecuted
  }),
  'tool.error': definePart('tool.error', { ...call, error: ToolErrorSchema, ...providerExecuted }),
  'input.request': definePart('input.request', {
    inputId: Type.String(),
    kind: Type.Union([Type.Literal('question'), Type.Literal('tool'), Type.Literal('auth')]),
    message: Type.Optional(Type.String()),
    schema: Type.Optional(Type.Unknown({ description: 'JSON Schema of the content of the answer' })),
    toolCallId: Type.Optional(Type.String()),
    toolName: Type.Optional(Type.String()),
    args: Type.Optional(Type.Unknown()),
    expiresAt: Type.String({ format: 'date-time' })
  }),
  'input.response': definePart('input.response', {
    inputId: Type.String(),
    action: InputActionSchema,
    content: Type.Optional(Type.Unknown())
  }),
  'step.start': definePart('step.start', {
    index: Type.Integer(),
    attempt: Type.Integer({ description: 'Over 1: discard the output of the earlier attempt of this step' }),
    model: Type.Optional(StepModelSchema)
  }),
  step: definePart('step', {
    index: Type.Integer(),
    usage: Type.Optional(UsageSchema),
    finishReason: Type.Optional(StepFinishReasonSchema),
    durationMs: Type.Optional(Type.Number({ description: 'Milliseconds of the model call' })),
    firstTokenMs: Type.Optional(Type.Number({ description: 'Milliseconds until its first token' })),
    model: Type.Optional(StepModelSchema)
  }),
  compaction: definePart('compaction', {
    index: Type.Integer({ description: 'The step that follows' }),
    reason: CompactionReasonSchema,
    before: Type.Integer({ description: 'Estimated tokens of the prompt' }),
    after: Type.Integer({ description: 'Estimated tokens of the prompt that is sent in its place' }),
    messages: Type.Integer({ description: 'How many messages were replaced' }),
    keeps: Type.Integer({ description: 'As in the `summary` of the session' }),
    cut: Type.Integer({ description: 'How many tool results show their ends only' }),
    text: Type.Optional(
      Type.String({ description: 'The summary; absent if there is none, or it must not be recorded' })
    ),
    model: Type.Optional(StepModelSchema),
    usage: Type.Optional(UsageSchema)
  }),
  guard: definePart('guard', {
    name: Type.String({ description: 'The middleware that stepped in' }),
    on: Type.Union(
      [
        Type.Literal('input'),
        Type.Literal('model'),
        Type.Literal('output'),
        Type.Literal('reasoning'),
        Type.Literal('tool'),
        Type.Literal('tool-result'),
        Type.Literal('memory')
      ],
      { description: 'What it was about' }
    ),
    action: Type.Union(
      [
        Type.Literal('replace'),
        Type.Literal('block'),
        Type.Literal('retry'),
        Type.Literal('approve'),
        Type.Literal('audit')
      ],
      { description: '`audit`: it was reported only' }
    ),
    reason: Type.Optional(Type.String()),
    index: Type.Optional(Type.Integer({ description: 'The step' })),
    toolCallId: Type.Optional(Type.String())
  }),
  file: definePart('file', {
    fileId: Type.Optional(Type.String({ description: 'In the file store of the run' })),
    url: Type.Optional(Type.String()),
    mimeType: Type.String(),
    filename: Type.Optional(Type.String()),
    size: Type.Optional(Type.Integer({ description: 'Bytes' })),
    sha256: Type.Optional(Type.String()),
    purpose: Type.Optional(Type.String({ description: 'Such as `screenshot` or `download`' })),
    toolCallId: Type.Optional(Type.String())
  }),
  citation: definePart('citation', {
    url: Type.Optional(Type.String()),
    title: Type.Optional(Type.String()),
    documentId: Type.Optional(Type.String()),
    quote: Type.Optional(Type.String())
  }),
  data: definePart('data', {
    name: Type.String(),
    value: Type.Unknown(),
    transient: Type.Optional(
      Type.Literal(true, { description: 'For readers of the moment: it has no `seq`, and no log keeps it' })
    )
  }),
  'voice.transcript': definePart('voice.transcript', {
    itemId: Type.String(),
    text: Type.String({ description: 'The words of the user' }),
    final: Type.Boolean(),
    startMs: Type.Number({ description: 'Milliseconds since the call began' }),
    endMs: Type.Number({ description: 'Milliseconds since the call began' }),
    language: Type.Optional(Type.String({ description: 'BCP 47' }))
  }),
  'voice.turn': definePart('voice.turn', {
    index: Type.Integer(),
    itemId: Type.String(),
    status: Type.Union([Type.Literal('completed'), Type.Literal('interrupted'), Type.Literal('failed')]),
    heardMs: Type.Number({ description: 'Milliseconds of the answer that were played' }),
    text: Type.String({ description: 'The spoken part of the answer; voids its increments' }),
    latency: Type.Object(
      {
        endpointMs: Type.Optional(Type.Number()),
        transcriptMs: Type.Optional(Type.Number()),
        firstTokenMs: Type.Optional(Type.Number()),
        firstAudioMs: Type.Optional(Type.Number())
      },
      { description: 'Milliseconds since the user stopped speaking' }
    )
  }),
  'voice.audio': definePart('voice.audio', {
    itemId: Type.String(),
    role: Type.Union([Type.Literal('user'), Type.Literal('assistant')]),
    fileId: Type.String({ description: 'In the file store of the run' }),
    mimeType: Type.String(),
    durationMs: Type.Number({ description: 'Milliseconds' }),
    size: Type.Integer({ description: 'Bytes' }),
    sha256: Type.String()
  }),
  'browser.page': definePart('browser.page', {
    index: Type.Integer({ description: 'The step of the agent' }),
    url: Type.String(),
    title: Type.String()
  }),
  structured: definePart('structured', { value: Type.Unknown() }),
  error: definePart('error', { error: PartErrorSchema }),
  finish: definePart('finish', {
    finishReason: FinishReasonSchema,
    usage: UsageSchema,
    durationMs: Type.Number({ description: 'Milliseconds' }),
    structured: Type.Unknown({ description: 'null if there is none' })
  })
} as const

/** One item of a run's log, before the engine numbers it. */
export const PartSchema = Type.Union(Object.values(PART_SCHEMAS), { title: 'Part' })

/** The types a part may have. */
export type PartType = keyof typeof PART_SCHEMAS
/** The part of a given type, e.g. `PartOf<'tool.call'>`. */
export type PartOf<T extends PartType> = Static<(typeof PART_SCHEMAS)[T]>
/** Any part, discriminated by `type`. */
export type Part = { [T in PartType]: PartOf<T> }[PartType]
/** What the engine adds to a part: its place in the log. */
export const PlaceSchema = Type.Object({
  seq: Type.Integer({ minimum: 1, description: 'Counts from 1 in each run' }),
  at: Type.Integer({ description: 'Milliseconds since the epoch; never less than in the part before' })
})
/** A part in a log. */
export type NumberedPart = Part & Static<typeof PlaceSchema>

/** A part that a runnable may yield; a `finish` may omit what the engine knows. */
export type YieldedPart =
  | Exclude<Part, PartOf<'finish'>>
  | (Pick<PartOf<'finish'>, 'type' | 'finishReason' | 'source'> & Partial<PartOf<'finish'>>)

/** True if a part ends its run: a `finish` or `error` of the run itself, not of a member. */
export function isTerminalPart(part: { type: string; source?: string[] }): boolean {
  return (part.type === 'finish' || part.type === 'error') && !part.source?.length
}

const TOOL_PARTS = [
  'tool.call.delta',
  'tool.call',
  'tool.result',
  'tool.error',
  'tool.approval.request',
  'tool.approval.response',
  'input.request',
  'input.response'
] as const
const types = new Set<string>(TOOL_PARTS)

/** A part about a tool call, or about what a run asks. */
export type ToolPart = NumberedPart & PartOf<(typeof TOOL_PARTS)[number]>

/** True for parts about tool calls, and about what a run asks. */
export function isToolPart(part: NumberedPart): part is ToolPart {
  return types.has(part.type)
}
