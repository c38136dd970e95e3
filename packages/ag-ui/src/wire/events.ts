import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { AgUiMessageSchema } from './input.ts'

// The events of AG-UI 1.0 that this package sends, as `EventSchemas` of `@ag-ui/core/schemas` has them. Optional fields are absent, never
// null. Every event also fits version 0.0.59, the last one before 1.0, as long as its outcome does: see `outcomes.ts`.

const text = (description?: string) => Type.String(description === undefined ? {} : { description })
const json = (description: string) => Type.Unknown({ description })
const metadata = {
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Further facts' }))
}
const run = { threadId: text('The session'), runId: text('This run, or the part of it that is streamed') }
const tagged = {
  subagentRunId: Type.Optional(text('The call of a member or a step; absent: the agent itself'))
}
const ofMessage = { messageId: text(), ...tagged }
const ofCall = { toolCallId: text('Unique in the thread'), ...tagged }
const define = <const T extends string, P extends TProperties>(type: T, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields, ...metadata })

/** What a run waits for; the next request answers it by its `id` in `resume`. */
export const InterruptSchema = Type.Object(
  {
    id: text('The id of the approval or input'),
    reason: text('`tool_call`: an approval; `input_required`: a question; `svc:auth`: credentials'),
    message: Type.Optional(text('The question')),
    toolCallId: Type.Optional(text()),
    responseSchema: Type.Optional(
      Type.Object({}, { additionalProperties: true, description: 'JSON Schema of the `payload`' })
    ),
    expiresAt: Type.Optional(Type.String({ format: 'date-time' })),
    ...tagged,
    ...metadata
  },
  { title: 'Interrupt' }
)
export type Interrupt = Static<typeof InterruptSchema>

/** How a run, or a part of it, ended. */
export const OutcomeSchema = Type.Union(
  [
    Type.Object({
      type: Type.Literal('success'),
      pendingToolCallIds: Type.Optional(
        Type.Array(Type.String(), { description: 'Calls of the client’s tools that the run waits for' })
      )
    }),
    Type.Object({
      type: Type.Literal('interrupt'),
      interrupts: Type.Array(InterruptSchema, { minItems: 1 })
    }),
    Type.Object({ type: Type.Literal('cancelled') })
  ],
  { title: 'RunFinishedOutcome' }
)
export type Outcome = Static<typeof OutcomeSchema>

const tokens = Type.Optional(Type.Integer({ minimum: 0 }))

/** Tokens by model. */
export const TokenUsageSchema = Type.Object(
  {
    provider: Type.Optional(text()),
    model: Type.Optional(text()),
    inputTokens: tokens,
    outputTokens: tokens,
    totalTokens: tokens,
    reasoningTokens: tokens,
    cachedInputTokens: tokens,
    cacheWriteInputTokens: tokens
  },
  { title: 'TokenUsage' }
)
export type TokenUsage = Static<typeof TokenUsageSchema>
const usage = { usage: Type.Optional(Type.Array(TokenUsageSchema)) }

const pointer = Type.String({ pattern: '^(/([^/~]|~[01])*)*$', description: 'RFC 6901' })
const value = Type.Unknown()

/** A change of the state. @see https://www.rfc-editor.org/rfc/rfc6902 */
export const JsonPatchSchema = Type.Array(
  Type.Union([
    ...(['add', 'replace', 'test'] as const).map((op) =>
      Type.Object({ op: Type.Literal(op), path: pointer, value })
    ),
    ...(['move', 'copy'] as const).map((op) =>
      Type.Object({ op: Type.Literal(op), path: pointer, from: pointer })
    ),
    Type.Object({ op: Type.Literal('remove'), path: pointer })
  ]),
  { title: 'JsonPatch' }
)

const started = {
  ...run,
  protocolVersion: Type.Literal('1.0'),
  timestamp: Type.Integer({ description: 'Milliseconds since the epoch' }),
  input: Type.Optional(
    Type.Object(
      {
        ...run,
        messages: Type.Array(AgUiMessageSchema),
        tools: Type.Array(Type.Unknown()),
        context: Type.Array(Type.Unknown())
      },
      { description: 'What the user asked, for a client that reads the thread from its start' }
    )
  )
}

/** The events of a stream. */
export const AgUiEventSchema = Type.Union(
  [
    define('RUN_STARTED', started),
    define('RUN_FINISHED', {
      ...run,
      result: Type.Optional(json('The structured output')),
      outcome: Type.Optional(OutcomeSchema),
      ...usage
    }),
    define('RUN_ERROR', { message: text(), code: Type.Optional(text('Stable')), ...usage }),
    define('STEP_STARTED', { stepName: text(), ...tagged }),
    define('STEP_FINISHED', { stepName: text(), ...tagged }),
    define('TEXT_MESSAGE_START', { ...ofMessage, role: Type.Literal('assistant') }),
    define('TEXT_MESSAGE_CONTENT', { ...ofMessage, delta: text() }),
    define('TEXT_MESSAGE_END', ofMessage),
    define('REASONING_START', ofMessage),
    define('REASONING_MESSAGE_START', { ...ofMessage, role: Type.Literal('reasoning') }),
    define('REASONING_MESSAGE_CONTENT', { ...ofMessage, delta: text() }),
    define('REASONING_MESSAGE_END', ofMessage),
    define('REASONING_END', ofMessage),
    define('TOOL_CALL_START', {
      ...ofCall,
      toolCallName: text(),
      parentMessageId: Type.Optional(text('The message of the assistant that makes the call'))
    }),
    define('TOOL_CALL_ARGS', { ...ofCall, delta: text('An increment of the JSON') }),
    define('TOOL_CALL_END', ofCall),
    define('TOOL_CALL_RESULT', {
      ...ofCall,
      messageId: text(),
      content: text('A text, or JSON'),
      role: Type.Literal('tool')
    }),
    define('STATE_SNAPSHOT', { snapshot: json('The state'), ...tagged }),
    define('STATE_DELTA', { delta: JsonPatchSchema, ...tagged }),
    define('ACTIVITY_SNAPSHOT', {
      ...ofMessage,
      activityType: text(),
      content: Type.Record(Type.String(), Type.Unknown())
    }),
    define('SUBAGENT_STARTED', {
      subagentRunId: text('Of this call'),
      name: text('The member or step'),
      parentSubagentRunId: Type.Optional(text())
    }),
    define('SUBAGENT_FINISHED', {
      subagentRunId: text(),
      result: Type.Optional(json('The structured output')),
      outcome: Type.Optional(
        Type.Union([
          Type.Object({ type: Type.Literal('success') }),
          Type.Object({
            type: Type.Literal('suspended'),
            interruptIds: Type.Optional(Type.Array(Type.String()))
          })
        ])
      )
    }),
    define('SUBAGENT_ERROR', { subagentRunId: text(), message: text(), code: Type.Optional(text()) }),
    define('CUSTOM', { name: text(), value: json('Depends on the name'), ...tagged })
  ],
  { title: 'Event' }
)
export type AgUiEvent = Static<typeof AgUiEventSchema>
export type AgUiEventOf<T extends AgUiEvent['type']> = Extract<AgUiEvent, { type: T }>

/** Names who made an event: a call of a member or a step; nothing for the agent itself. */
export type Tag = { readonly subagentRunId?: string }
