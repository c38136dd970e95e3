import { Type, type Static, type TObject, type TProperties } from '@sinclair/typebox'
import { UsageSchema, type VoiceOutput } from '@svc/contract'

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
    ...{ itemId, previousItemId },
    text: Type.Optional(Type.String({ description: 'Of a turn in writing' }))
  }),
  transcript: define('Transcript', { itemId, text, final: Type.Boolean() }),
  'transcript.failed': define('TranscriptFailed', { itemId, code: Type.String(), message: Type.String() }),
  'response.start': define('ResponseStart', { responseId }),
  'answer.start': define('AnswerStart', {
    ...{ responseId, itemId, previousItemId },
    modality: options('audio', 'text')
  }),
  text: define('Text', { responseId, itemId, delta: Type.String({ description: 'An increment' }) }),
  audio: define('Audio', {
    ...{ responseId, itemId },
    startMs: ms('of the answer before it'),
    audio: Type.Unsafe<Uint8Array>({
      type: 'string',
      format: 'binary',
      description:
        'In the output format, as an attachment of the packet: a Buffer in Node, an ArrayBuffer in browsers'
    })
  }),
  'answer.end': define('AnswerEnd', {
    ...{ responseId, itemId, durationMs: ms('of audio') },
    text: Type.String({ description: 'All that was generated, whether it was played or not' })
  }),
  'tool.call': define('ToolCall', {
    ...{ responseId, itemId, previousItemId },
    ...{ inputId: Type.String({ description: 'For `input.answer`' }), toolCallId: Type.String() },
    ...{ toolName: Type.String(), args: Type.Unknown() }
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
    ...{ toolName: Type.String(), args: Type.Unknown() }
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
