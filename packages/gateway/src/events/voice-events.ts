import { Type, type Static, type TObject, type TProperties } from '@sinclair/typebox'
import {
  InstructionsSchema,
  RunBodySchema,
  UsageSchema,
  VoiceSettingsSchema,
  type VoiceOutput
} from '@svc/contract'
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

const place = {
  runId: Type.String({ description: 'The call' }),
  position: Type.Integer({ minimum: 1, description: '`voice.resume` continues after it' })
}
const define = <P extends TProperties>(title: string, fields: P) =>
  Type.Object({ ...fields, ...place }, { title: `Voice${title}` })
const itemId = Type.String()
const responseId = Type.String()
const previousItemId = Type.Optional(Type.String({ description: 'The item before it; absent for the first' }))
const text = Type.String()
const ms = (description: string) => Type.Number({ description: `Milliseconds ${description}` })
const options = <T extends string>(...values: T[]) => Type.Union(values.map((each) => Type.Literal(each)))

type Name = Exclude<VoiceOutput['type'], 'error'>

/** The payload of an event of a call, by the type of its output. */
export type VoicePayloads = {
  [T in Name]: Omit<Extract<VoiceOutput, { type: T }>, 'type' | 'audio'> &
    (T extends 'audio' ? { audio: Uint8Array<ArrayBuffer> | ArrayBuffer } : object) &
    Static<TObject<typeof place>>
}

/** The schemas of a call's events, which are prefixed as in `voice.state`. */
export const VOICE_EVENTS = {
  state: define('State', { state: options('listening', 'thinking', 'speaking') }),
  'speech.start': define('SpeechStart', { itemId, atMs: ms('of received audio') }),
  'speech.stop': define('SpeechStop', { itemId, atMs: ms('of received audio') }),
  item: define('Item', {
    itemId,
    previousItemId,
    text: Type.Optional(Type.String({ description: 'Of a turn in writing' }))
  }),
  transcript: define('Transcript', { itemId, text, final: Type.Boolean() }),
  'transcript.failed': define('TranscriptFailed', { itemId, code: Type.String(), message: Type.String() }),
  'response.start': define('ResponseStart', { responseId }),
  'answer.start': define('AnswerStart', {
    responseId,
    itemId,
    previousItemId,
    modality: options('audio', 'text')
  }),
  text: define('Text', { responseId, itemId, delta: Type.String({ description: 'An increment' }) }),
  audio: define('Audio', {
    responseId,
    itemId,
    startMs: ms('of the answer before it'),
    audio: Type.Unsafe<Uint8Array>({
      type: 'string',
      format: 'binary',
      description:
        'In the output format, as an attachment of the packet: a Buffer in Node, an ArrayBuffer in browsers'
    })
  }),
  'answer.end': define('AnswerEnd', {
    responseId,
    itemId,
    durationMs: ms('of audio'),
    text: Type.String({ description: 'All that was generated, whether it was played or not' })
  }),
  'tool.call': define('ToolCall', {
    responseId,
    itemId,
    previousItemId,
    inputId: Type.String({ description: 'For `input.answer`' }),
    toolCallId: Type.String(),
    toolName: Type.String(),
    args: Type.Unknown()
  }),
  'response.end': define('ResponseEnd', {
    responseId,
    status: options('completed', 'interrupted', 'canceled', 'failed'),
    usage: UsageSchema,
    error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }))
  }),
  clear: define('Clear', { itemId, heardMs: ms('that were played'), text }),
  truncated: define('Truncated', { itemId, heardMs: ms('that were played'), text }),
  approval: define('Approval', {
    approvalId: Type.String({ description: 'For `approval.answer`' }),
    toolName: Type.String(),
    args: Type.Unknown()
  }),
  recording: define('Recording', {})
} satisfies Record<Name, TObject>

/** `voice.error`: an event of the call was refused, or something failed; the call continues. */
export const VoiceErrorEventSchema = Type.Object(
  { error: Type.String(), code: Type.String(), ...Type.Partial(Type.Object(place)).properties },
  { title: 'VoiceErrorEvent' }
)
export type VoiceErrorEvent = Static<typeof VoiceErrorEventSchema>

/** `voice.done`: the last event of a call on this connection. */
export const VoiceDoneEventSchema = Type.Object(
  {
    runId: place.runId,
    status: Type.Union(
      [...(['completed', 'canceled', 'failed', 'replaced'] as const)].map((each) => Type.Literal(each)),
      { description: '`replaced`: another connection has the call now' }
    ),
    error: Type.Optional(Type.String()),
    code: Type.Optional(Type.String())
  },
  { title: 'VoiceDoneEvent' }
)
export type VoiceDoneEvent = Static<typeof VoiceDoneEventSchema>

/** The listeners for the events of calls. */
export type VoiceServerEvents = {
  [T in Name as `voice.${T}`]: (event: VoicePayloads[T]) => void
} & {
  'voice.error': (event: VoiceErrorEvent) => void
  'voice.done': (event: VoiceDoneEvent) => void
}
