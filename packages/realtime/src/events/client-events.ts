import { Type, type Static, type TProperties } from '@sinclair/typebox'
import { ItemIdSchema, ItemSchema } from './items.ts'
import { AudioFormatSchema, SessionConfigSchema, SHARED_FIELDS } from './session.ts'

const eventId = { event_id: Type.Optional(Type.String({ maxLength: 512 })) }
const defineEvent = <N extends string, P extends TProperties>(type: N, fields: P) =>
  Type.Object(
    { type: Type.Literal(type), ...eventId, ...fields },
    { additionalProperties: false, title: type }
  )

/** Configures the session; absent fields keep their value. */
const SessionUpdateSchema = defineEvent('session.update', { session: SessionConfigSchema })
/** Audio of the microphone. */
const AppendSchema = defineEvent('input_audio_buffer.append', {
  audio: Type.String({ description: 'Base64, in the input format' })
})
/** Ends a turn of the user. */
const CommitSchema = defineEvent('input_audio_buffer.commit', {})
/** Discards the audio that belongs to no turn yet. */
const ClearSchema = defineEvent('input_audio_buffer.clear', {})
/** Discards the audio of a response; for WebRTC and SIP only. */
const OutputClearSchema = defineEvent('output_audio_buffer.clear', {})
/** A message of the user in writing, or the output of a function call. */
const ItemCreateSchema = defineEvent('conversation.item.create', {
  previous_item_id: Type.Optional(Type.Union([ItemIdSchema, Type.Null()])),
  item: ItemSchema
})
/** Asks for an item as the service has it. */
const ItemRetrieveSchema = defineEvent('conversation.item.retrieve', { item_id: ItemIdSchema })
/** Removes an item. */
const ItemDeleteSchema = defineEvent('conversation.item.delete', { item_id: ItemIdSchema })
/** Cuts an answer to what was played of it. */
const ItemTruncateSchema = defineEvent('conversation.item.truncate', {
  item_id: ItemIdSchema,
  content_index: Type.Integer({ minimum: 0 }),
  audio_end_ms: Type.Number({ minimum: 0, description: 'Milliseconds that were played' })
})
/** Asks for an answer. */
const ResponseCreateSchema = defineEvent('response.create', {
  response: Type.Optional(
    Type.Object(
      {
        ...SHARED_FIELDS,
        conversation: Type.Optional(Type.String()),
        input: Type.Optional(Type.Array(Type.Unknown())),
        metadata: Type.Optional(
          Type.Union([
            Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 512 }), {
              maxProperties: 16
            }),
            Type.Null()
          ])
        ),
        audio: Type.Optional(
          Type.Object(
            {
              output: Type.Optional(
                Type.Object(
                  { format: Type.Optional(AudioFormatSchema), voice: Type.Optional(Type.Unknown()) },
                  { additionalProperties: false }
                )
              )
            },
            { additionalProperties: false }
          )
        )
      },
      { additionalProperties: false }
    )
  )
})
/** Ends the response in progress. */
const ResponseCancelSchema = defineEvent('response.cancel', {
  response_id: Type.Optional(Type.String())
})

/** The schemas of all client events of the protocol. */
export const CLIENT_EVENTS = {
  'session.update': SessionUpdateSchema,
  'input_audio_buffer.append': AppendSchema,
  'input_audio_buffer.commit': CommitSchema,
  'input_audio_buffer.clear': ClearSchema,
  'output_audio_buffer.clear': OutputClearSchema,
  'conversation.item.create': ItemCreateSchema,
  'conversation.item.retrieve': ItemRetrieveSchema,
  'conversation.item.delete': ItemDeleteSchema,
  'conversation.item.truncate': ItemTruncateSchema,
  'response.create': ResponseCreateSchema,
  'response.cancel': ResponseCancelSchema
} as const

/** The client events by their type. */
export type ClientEvents = { [T in keyof typeof CLIENT_EVENTS]: Static<(typeof CLIENT_EVENTS)[T]> }
export type ClientEventType = keyof ClientEvents
export type ClientEvent = ClientEvents[ClientEventType]
