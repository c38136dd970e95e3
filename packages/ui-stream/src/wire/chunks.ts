import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { FinishReasonSchema, UsageSchema } from '@svc/contract'

// Version 1 of the UI message stream, as `uiMessageChunkSchema` of the npm package `ai` has it: the chunks that this package sends,
// none that the oldest clients of version 7 refuse, except for `steering-message`, which the app must ask for.

/** Facts about a message of the assistant: its run, how far the client has read it, and how it ended. */
export const ChatMetadataSchema = Type.Object(
  {
    runId: Type.String(),
    sessionId: Type.String(),
    createdAt: Type.Integer({ description: 'Milliseconds since the epoch' }),
    status: Type.Union([
      Type.Literal('working'),
      Type.Literal('input-required'),
      Type.Literal('completed'),
      Type.Literal('canceled'),
      Type.Literal('failed')
    ]),
    seq: Type.Integer({ description: 'The part of the log up to which the message has been sent' }),
    finishReason: FinishReasonSchema,
    usage: UsageSchema,
    durationMs: Type.Number({ description: 'Milliseconds' }),
    error: Type.Object({ code: Type.String(), message: Type.String(), retryable: Type.Boolean() })
  },
  { title: 'ChatMetadata' }
)
export type ChatMetadata = Static<typeof ChatMetadataSchema>

const metadata = { messageMetadata: Type.Partial(ChatMetadataSchema, { title: 'PartialChatMetadata' }) }
const id = { id: Type.String() }
const toolCallId = Type.String({ description: 'Unique in the message' })
const providerExecuted = Type.Optional(
  Type.Literal(true, { description: 'The service executes the tool; absent for a tool of the client' })
)
const call = { toolCallId, toolName: Type.String(), dynamic: Type.Optional(Type.Literal(true)) }
const toolMetadata = Type.Optional(
  Type.Object({
    source: Type.Optional(Type.Array(Type.String())),
    parentToolCallId: Type.Optional(Type.String())
  })
)
const providerMetadata = Type.Optional(
  Type.Object({ svc: Type.Record(Type.String(), Type.Unknown()) }, { description: 'Further facts' })
)
const define = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields })

/** The chunks of a stream. */
export const UiChunkSchema = Type.Union(
  [
    define('start', { messageId: Type.String(), ...metadata }),
    define('start-step', {}),
    define('reset-step', {}),
    define('finish-step', {}),
    define('text-start', id),
    define('text-delta', { ...id, delta: Type.String() }),
    define('text-end', id),
    define('reasoning-start', id),
    define('reasoning-delta', { ...id, delta: Type.String() }),
    define('reasoning-end', id),
    define('tool-input-start', { ...call, toolMetadata }),
    define('tool-input-delta', { toolCallId, inputTextDelta: Type.String() }),
    define('tool-input-available', { ...call, input: Type.Unknown(), providerExecuted, toolMetadata }),
    define('tool-approval-request', {
      approvalId: Type.String(),
      toolCallId,
      approvalDescriptor: Type.Object({ expiresAt: Type.String({ format: 'date-time' }) })
    }),
    define('tool-approval-response', {
      approvalId: Type.String(),
      approved: Type.Boolean(),
      reason: Type.Optional(Type.String())
    }),
    define('tool-output-available', { toolCallId, output: Type.Unknown(), providerExecuted }),
    define('tool-output-error', { toolCallId, errorText: Type.String(), providerExecuted }),
    define('tool-output-denied', { toolCallId }),
    define('source-url', {
      sourceId: Type.String(),
      url: Type.String(),
      title: Type.Optional(Type.String()),
      providerMetadata
    }),
    define('source-document', {
      sourceId: Type.String(),
      mediaType: Type.String(),
      title: Type.String(),
      providerMetadata
    }),
    define('file', { url: Type.String(), mediaType: Type.String(), providerMetadata }),
    Type.Object({
      type: Type.TemplateLiteral([Type.Literal('data-'), Type.String()]),
      id: Type.Optional(Type.String()),
      data: Type.Unknown(),
      transient: Type.Optional(Type.Literal(true))
    }),
    define('steering-message', {
      ...id,
      parts: Type.Array(Type.Object({ type: Type.Literal('text'), text: Type.String() }))
    }),
    define('message-metadata', metadata),
    define('error', { errorText: Type.String() }),
    define('abort', {}),
    define('finish', {
      finishReason: Type.Union([
        Type.Literal('stop'),
        Type.Literal('length'),
        Type.Literal('content-filter'),
        Type.Literal('tool-calls'),
        Type.Literal('error'),
        Type.Literal('other')
      ]),
      ...metadata
    })
  ],
  { title: 'UIMessageChunk' }
)
export type UiChunk = Static<typeof UiChunkSchema>
export type UiChunkOf<T extends UiChunk['type']> = Extract<UiChunk, { type: T }>

/** The header that names the protocol and its version. */
export const UI_STREAM_HEADER = Object.freeze({ 'x-vercel-ai-ui-message-stream': 'v1' })
