import { Type, type Static } from '@sinclair/typebox'
import { InstructionsSchema, RunBodySchema, VoiceSettingsSchema } from '@svc/contract'
import { CallSchema, OkSchema, type Call, type ClientListener, type Ok } from './acknowledgements.ts'

const strict = { additionalProperties: false } as const
const id = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })
const milliseconds = Type.Number({ minimum: 0, description: 'Milliseconds of the answer' })
const position = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }))

/** `voice.start`: calls a voice agent; the call is a run, which is followed. */
export const VoiceStartEventSchema = Type.Composite(
  [
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 512, description: 'The name of the voice agent' }),
      settings: Type.Optional(VoiceSettingsSchema),
      canClear: Type.Optional(
        Type.Boolean({
          description:
            'False: the client cannot discard audio, and gets at most 400 ms in advance; default true'
        })
      ),
      reportsPlayback: Type.Optional(
        Type.Boolean({
          description:
            'True: the client sends `voice.played` and `voice.truncate`; default false, audio counts as played in real time'
        })
      ),
      parts: Type.Optional(
        Type.Boolean({
          description: 'True to receive the parts without an event of their own, too; default false'
        })
      )
    }),
    Type.Pick(RunBodySchema, ['sessionId', 'userId', 'apiKey', 'metadata'])
  ],
  { ...strict, title: 'VoiceStartEvent' }
)
export type VoiceStartEvent = Static<typeof VoiceStartEventSchema>

/** `voice.resume`: continues a call over this connection; an earlier connection is replaced. */
export const VoiceResumeEventSchema = Type.Object(
  {
    runId: Type.String({ minLength: 1, maxLength: 512, description: 'The call' }),
    after: position('The `position` of the last received event; default: earlier events are not sent again')
  },
  { ...strict, title: 'VoiceResumeEvent' }
)
export type VoiceResumeEvent = Static<typeof VoiceResumeEventSchema>

/** `voice.commit`: the turn of the user is over. */
export const VoiceCommitEventSchema = Type.Object(
  { itemId: Type.Optional(id('Your own id of the turn; default: one of the service')) },
  { ...strict, title: 'VoiceCommitEvent' }
)
export type VoiceCommitEvent = Static<typeof VoiceCommitEventSchema>

/** `voice.text`: a turn of the user in writing. */
export const VoiceTextEventSchema = Type.Object(
  {
    text: Type.String({ pattern: '\\S', maxLength: 65_536 }),
    itemId: Type.Optional(id('Your own id of the turn; default: one of the service')),
    respond: Type.Optional(
      Type.Boolean({ description: 'True to answer at once; default: at `voice.respond`' })
    )
  },
  { ...strict, title: 'VoiceTextEvent' }
)
export type VoiceTextEvent = Static<typeof VoiceTextEventSchema>

/** `voice.respond`: asks for an answer. */
export const VoiceRespondEventSchema = Type.Object(
  {
    instructions: Type.Optional(InstructionsSchema),
    modality: Type.Optional(Type.Union([Type.Literal('audio'), Type.Literal('text')]))
  },
  { ...strict, title: 'VoiceRespondEvent' }
)
export type VoiceRespondEvent = Static<typeof VoiceRespondEventSchema>

/** `voice.truncate`: the client has stopped an answer after it had played `heardMs` milliseconds of it. */
export const VoiceTruncateEventSchema = Type.Object(
  { itemId: id('The answer'), heardMs: milliseconds },
  { ...strict, title: 'VoiceTruncateEvent' }
)
export type VoiceTruncateEvent = Static<typeof VoiceTruncateEventSchema>

/** `voice.played`: the client has played `ms` milliseconds of an answer. */
export const VoicePlayedEventSchema = Type.Object(
  { itemId: id('The answer'), ms: milliseconds },
  { ...strict, title: 'VoicePlayedEvent' }
)
export type VoicePlayedEvent = Static<typeof VoicePlayedEventSchema>

/** `voice.configure`: changes settings of the call. */
export const VoiceConfigureEventSchema = Type.Object(
  { settings: VoiceSettingsSchema },
  { ...strict, title: 'VoiceConfigureEvent' }
)
export type VoiceConfigureEvent = Static<typeof VoiceConfigureEventSchema>

/** `voice.clear`, `voice.cancel`, `voice.stop`: discards the audio of the current turn; ends the answer; hangs up. */
export const VoicePlainEventSchema = Type.Object({}, { ...strict, title: 'VoicePlainEvent' })
export type VoicePlainEvent = Record<string, never>

/** `voice.audio`: its payload is the attachment itself. */
export const VoiceFrameSchema = Type.Unsafe<Uint8Array | ArrayBuffer>({
  title: 'VoiceFrame',
  type: 'string',
  format: 'binary',
  description: 'Audio in the input format, at most 65,536 bytes, as the attachment of the packet'
})
export type VoiceFrame = Static<typeof VoiceFrameSchema>

/** The schemas of clients' events of calls. */
export const VOICE_CLIENT_EVENTS = {
  'voice.start': VoiceStartEventSchema,
  'voice.resume': VoiceResumeEventSchema,
  'voice.commit': VoiceCommitEventSchema,
  'voice.clear': VoicePlainEventSchema,
  'voice.text': VoiceTextEventSchema,
  'voice.respond': VoiceRespondEventSchema,
  'voice.cancel': VoicePlainEventSchema,
  'voice.truncate': VoiceTruncateEventSchema,
  'voice.played': VoicePlayedEventSchema,
  'voice.configure': VoiceConfigureEventSchema,
  'voice.stop': VoicePlainEventSchema,
  'voice.audio': VoiceFrameSchema
} as const

/** The schemas of the acknowledgements of accepted events of calls. */
export const VOICE_ACKNOWLEDGEMENTS = {
  'voice.start': CallSchema,
  'voice.resume': CallSchema,
  'voice.commit': OkSchema,
  'voice.clear': OkSchema,
  'voice.text': OkSchema,
  'voice.respond': OkSchema,
  'voice.cancel': OkSchema,
  'voice.truncate': OkSchema,
  'voice.played': OkSchema,
  'voice.configure': OkSchema,
  'voice.stop': OkSchema,
  'voice.audio': OkSchema
} as const

/** The events of clients in calls. */
export interface VoiceClientEvents {
  'voice.start': ClientListener<VoiceStartEvent, Call>
  'voice.resume': ClientListener<VoiceResumeEvent, Call>
  'voice.commit': ClientListener<VoiceCommitEvent, Ok>
  'voice.clear': ClientListener<VoicePlainEvent, Ok>
  'voice.text': ClientListener<VoiceTextEvent, Ok>
  'voice.respond': ClientListener<VoiceRespondEvent, Ok>
  'voice.cancel': ClientListener<VoicePlainEvent, Ok>
  'voice.truncate': ClientListener<VoiceTruncateEvent, Ok>
  'voice.played': ClientListener<VoicePlayedEvent, Ok>
  'voice.configure': ClientListener<VoiceConfigureEvent, Ok>
  'voice.stop': ClientListener<VoicePlainEvent, Ok>
  'voice.audio': ClientListener<VoiceFrame, Ok>
}
