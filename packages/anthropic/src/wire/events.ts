import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { ResultBlockSchema, TextBlockSchema, UserBlockSchema } from './blocks.ts'

// The events of the revision that this package sends, as `BetaManagedAgentsStreamSessionEvents` of the vendor's SDK has them.

const text = (description?: string) => Type.String(description === undefined ? {} : { description })
const flag = Type.Optional(Type.Union([Type.Boolean(), Type.Null()]))
const nullable = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const time = Type.String({ format: 'date-time' })
const thread = Type.Optional(
  Type.Union([Type.String(), Type.Null()], { description: 'The thread, where it is not that of the reader' })
)
const define = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ id: text(), type: Type.Literal(type), ...fields })
const happened = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  define(type, { ...fields, processed_at: time })

const userMessage = { content: Type.Array(UserBlockSchema) }
const toolResult = { content: Type.Optional(Type.Array(ResultBlockSchema)), is_error: flag }
const customToolResult = { custom_tool_use_id: text(), ...toolResult }
const confirmation = {
  tool_use_id: text(),
  result: Type.Union([Type.Literal('allow'), Type.Literal('deny')]),
  deny_message: nullable
}
const sent = { processed_at: Type.Optional(Type.Union([time, Type.Null()])), session_thread_id: thread }

/** The events of the user, as the history has them. */
const USER_EVENTS = [
  define('user.message', { ...userMessage, processed_at: sent.processed_at }),
  define('user.interrupt', sent),
  define('user.tool_confirmation', { ...confirmation, ...sent }),
  define('user.custom_tool_result', { ...customToolResult, ...sent })
] as const
export const UserEventSchema = Type.Union([...USER_EVENTS], { title: 'UserEvent' })
export type UserEvent = Static<typeof UserEventSchema>

const StopReasonSchema = Type.Union(
  [
    Type.Object({ type: Type.Literal('end_turn') }),
    Type.Object({ type: Type.Literal('requires_action'), event_ids: Type.Array(text()) }),
    Type.Object({ type: Type.Literal('retries_exhausted') }),
    Type.Object({ type: Type.Literal('budget_reached') }),
    Type.Object({ type: Type.Literal('refusal') })
  ],
  { title: 'StopReason' }
)
export type StopReason = Static<typeof StopReasonSchema>
const stopped = {
  stop_reason: StopReasonSchema,
  stop_details: Type.Union([
    Type.Object({ type: Type.Literal('refusal'), category: Type.Null(), explanation: Type.Null() }),
    Type.Null()
  ])
}

const SessionErrorSchema = Type.Object(
  {
    type: Type.Union([
      Type.Literal('unknown_error'),
      Type.Literal('billing_error'),
      Type.Literal('model_overloaded_error'),
      Type.Literal('model_rate_limited_error'),
      Type.Literal('model_request_failed_error')
    ]),
    message: text(),
    retry_status: Type.Object({ type: Type.Literal('exhausted') })
  },
  { title: 'SessionError' }
)
export type SessionError = Static<typeof SessionErrorSchema>

const ModelUsageSchema = Type.Object(
  {
    input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    cache_creation_input_tokens: Type.Integer(),
    cache_read_input_tokens: Type.Integer()
  },
  { title: 'ModelUsage' }
)
export type ModelUsage = Static<typeof ModelUsageSchema>

const ofThread = { session_thread_id: text(), agent_name: text() }
const toolUse = { name: text(), input: Type.Record(Type.String(), Type.Unknown()), session_thread_id: thread }
const permission = Type.Union([Type.Literal('allow'), Type.Literal('ask'), Type.Literal('deny')])

/** An event of a session, or of one of its threads. */
export const SessionEventSchema = Type.Union(
  [
    ...USER_EVENTS,
    happened('agent.message', { content: Type.Array(TextBlockSchema) }),
    happened('agent.thinking', {}),
    happened('agent.tool_use', { ...toolUse, evaluated_permission: permission }),
    happened('agent.tool_result', { tool_use_id: text(), ...toolResult }),
    happened('agent.custom_tool_use', toolUse),
    happened('agent.thread_message_received', {
      from_session_thread_id: text(),
      from_agent_name: nullable,
      content: Type.Array(TextBlockSchema)
    }),
    happened('session.status_running', {}),
    happened('session.status_idle', stopped),
    happened('session.deleted', {}),
    happened('session.error', { error: SessionErrorSchema }),
    happened('session.thread_created', { ...ofThread, workflow_run_id: Type.Null() }),
    happened('session.thread_status_running', ofThread),
    happened('session.thread_status_idle', { ...ofThread, ...stopped }),
    happened('span.model_request_start', {}),
    happened('span.model_request_end', {
      model_request_start_id: text(),
      is_error: Type.Union([Type.Boolean(), Type.Null()]),
      model_usage: ModelUsageSchema
    })
  ],
  { title: 'SessionEvent' }
)
export type SessionEvent = Static<typeof SessionEventSchema>
export type SessionEventType = SessionEvent['type']
export type SessionEventOf<T extends SessionEventType> = Extract<SessionEvent, { type: T }>

const PreviewTypeSchema = Type.Union([Type.Literal('agent.message'), Type.Literal('agent.thinking')])
export type PreviewType = Static<typeof PreviewTypeSchema>
export const PREVIEWED: readonly PreviewType[] = ['agent.message', 'agent.thinking']

/** What a stream with `event_deltas` has besides: the beginning of an event, and its text as it is written. */
export const PreviewEventSchema = Type.Union(
  [
    Type.Object({
      type: Type.Literal('event_start'),
      event: Type.Object({ id: text(), type: PreviewTypeSchema })
    }),
    Type.Object({
      type: Type.Literal('event_delta'),
      event_id: text(),
      delta: Type.Object({
        type: Type.Literal('content_delta'),
        index: Type.Integer(),
        content: TextBlockSchema
      })
    })
  ],
  { title: 'PreviewEvent' }
)
export type PreviewEvent = Static<typeof PreviewEventSchema>

/** An event of a stream. */
export const StreamEventSchema = Type.Union([SessionEventSchema, PreviewEventSchema], {
  title: 'StreamEvent'
})
export type StreamEvent = SessionEvent | PreviewEvent

const ask = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields }, { additionalProperties: false })

/** A message of the user, as a client sends it. */
export const UserMessageSchema = ask('user.message', userMessage)
export type UserMessage = Static<typeof UserMessageSchema>

/** What a client sends. */
export const SentEventSchema = Type.Union(
  [
    UserMessageSchema,
    ask('user.interrupt', { session_thread_id: nullable }),
    ask('user.tool_confirmation', confirmation),
    ask('user.custom_tool_result', customToolResult),
    ask('user.tool_result', { tool_use_id: text(), ...toolResult }),
    ask('system.message', { content: Type.Array(TextBlockSchema) }),
    Type.Object({ type: Type.Literal('user.define_outcome') }, { additionalProperties: true })
  ],
  { title: 'SentEvent' }
)
export type SentEvent = Static<typeof SentEventSchema>
