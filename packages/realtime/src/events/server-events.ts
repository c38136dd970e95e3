import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { ItemSchema } from './items.ts'
import { AudioFormatSchema, OutputModalitiesSchema, SessionConfigSchema } from './session.ts'

const defineEvent = <N extends string, P extends TProperties>(type: N, fields: P) =>
  Type.Object({ type: Type.Literal(type), event_id: Type.String(), ...fields }, { title: type })

const text = Type.String()
const index = Type.Integer({ minimum: 0 })
const item = { item_id: text }
const content = { response_id: text, item_id: text, output_index: index, content_index: index }
const output = { response_id: text, output_index: index, item: ItemSchema }
const placed = { previous_item_id: Type.Union([text, Type.Null()]), item: ItemSchema }
const call = { response_id: text, item_id: text, output_index: index, call_id: text }
const part = {
  ...content,
  part: Type.Object({
    type: Type.Union([Type.Literal('text'), Type.Literal('audio')]),
    text: Type.Optional(text),
    transcript: Type.Optional(text)
  })
}
const milliseconds = Type.Integer({ minimum: 0 })

/** The tokens of a response. */
const UsageSchema = Type.Object({
  total_tokens: Type.Integer(),
  input_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  input_token_details: Type.Object({ cached_tokens: Type.Integer() })
})

/** A response. */
export const ResponseSchema = Type.Object(
  {
    object: Type.Literal('realtime.response'),
    id: text,
    conversation_id: Type.String({ description: 'The call: it is the `runId` of its run' }),
    status: Type.Union([
      Type.Literal('in_progress'),
      Type.Literal('completed'),
      Type.Literal('cancelled'),
      Type.Literal('failed')
    ]),
    status_details: Type.Optional(
      Type.Object({
        type: Type.Union([Type.Literal('completed'), Type.Literal('cancelled'), Type.Literal('failed')]),
        reason: Type.Optional(Type.Union([Type.Literal('turn_detected'), Type.Literal('client_cancelled')])),
        error: Type.Optional(Type.Object({ type: text, code: text, message: text }))
      })
    ),
    output: Type.Array(ItemSchema),
    output_modalities: OutputModalitiesSchema,
    audio: Type.Object({
      output: Type.Object({ format: AudioFormatSchema, voice: Type.Optional(text) })
    }),
    max_output_tokens: Type.Literal('inf'),
    metadata: Type.Union([Type.Record(text, text), Type.Null()]),
    usage: Type.Optional(UsageSchema)
  },
  { title: 'Response' }
)
export type Response = Static<typeof ResponseSchema>

const session = Type.Composite([SessionConfigSchema, Type.Object({ id: text, object: text })])

/** The schemas of the server events that are sent. */
export const SERVER_EVENTS = {
  error: defineEvent('error', {
    error: Type.Object({
      type: Type.String({ description: '`invalid_request_error` or `server_error`' }),
      code: text,
      message: text,
      param: Type.Union([text, Type.Null()]),
      event_id: Type.Union([text, Type.Null()], { description: 'The client event at fault' })
    })
  }),
  'session.created': defineEvent('session.created', { session }),
  'session.updated': defineEvent('session.updated', { session }),
  'conversation.created': defineEvent('conversation.created', {
    conversation: Type.Object({ id: text, object: Type.Literal('realtime.conversation') })
  }),
  'conversation.item.added': defineEvent('conversation.item.added', placed),
  'conversation.item.done': defineEvent('conversation.item.done', placed),
  'conversation.item.retrieved': defineEvent('conversation.item.retrieved', { item: ItemSchema }),
  'conversation.item.truncated': defineEvent('conversation.item.truncated', {
    ...item,
    content_index: index,
    audio_end_ms: milliseconds
  }),
  'conversation.item.input_audio_transcription.delta': defineEvent(
    'conversation.item.input_audio_transcription.delta',
    { ...item, content_index: index, delta: text }
  ),
  'conversation.item.input_audio_transcription.completed': defineEvent(
    'conversation.item.input_audio_transcription.completed',
    {
      ...item,
      content_index: index,
      transcript: text,
      usage: Type.Object({ type: Type.Literal('duration'), seconds: Type.Number() })
    }
  ),
  'conversation.item.input_audio_transcription.failed': defineEvent(
    'conversation.item.input_audio_transcription.failed',
    {
      ...item,
      content_index: index,
      error: Type.Object({ type: text, code: text, message: text })
    }
  ),
  'input_audio_buffer.committed': defineEvent('input_audio_buffer.committed', {
    ...item,
    previous_item_id: Type.Union([text, Type.Null()])
  }),
  'input_audio_buffer.cleared': defineEvent('input_audio_buffer.cleared', {}),
  'input_audio_buffer.speech_started': defineEvent('input_audio_buffer.speech_started', {
    ...item,
    audio_start_ms: milliseconds
  }),
  'input_audio_buffer.speech_stopped': defineEvent('input_audio_buffer.speech_stopped', {
    ...item,
    audio_end_ms: milliseconds
  }),
  'output_audio_buffer.cleared': defineEvent('output_audio_buffer.cleared', { response_id: text }),
  'response.created': defineEvent('response.created', { response: ResponseSchema }),
  'response.done': defineEvent('response.done', { response: ResponseSchema }),
  'response.output_item.added': defineEvent('response.output_item.added', output),
  'response.output_item.done': defineEvent('response.output_item.done', output),
  'response.content_part.added': defineEvent('response.content_part.added', part),
  'response.content_part.done': defineEvent('response.content_part.done', part),
  'response.output_text.delta': defineEvent('response.output_text.delta', { ...content, delta: text }),
  'response.output_text.done': defineEvent('response.output_text.done', { ...content, text }),
  'response.output_audio_transcript.delta': defineEvent('response.output_audio_transcript.delta', {
    ...content,
    delta: text
  }),
  'response.output_audio_transcript.done': defineEvent('response.output_audio_transcript.done', {
    ...content,
    transcript: text
  }),
  'response.output_audio.delta': defineEvent('response.output_audio.delta', {
    ...content,
    delta: Type.String({ description: 'Base64, in the output format' })
  }),
  'response.output_audio.done': defineEvent('response.output_audio.done', content),
  'response.function_call_arguments.delta': defineEvent('response.function_call_arguments.delta', {
    ...call,
    delta: text
  }),
  'response.function_call_arguments.done': defineEvent('response.function_call_arguments.done', {
    ...call,
    name: text,
    arguments: Type.String({ description: 'JSON' })
  })
} as const

/** The server events by their type. */
export type ServerEvents = { [T in keyof typeof SERVER_EVENTS]: Static<(typeof SERVER_EVENTS)[T]> }
export type ServerEventType = keyof ServerEvents
export type ServerEvent = ServerEvents[ServerEventType]
/** A server event before it has its id. */
export type Unsent<E extends ServerEvent = ServerEvent> = E extends unknown ? Omit<E, 'event_id'> : never

/** Sends a server event, and gives it its id. */
export type Emit = (event: Unsent) => void
