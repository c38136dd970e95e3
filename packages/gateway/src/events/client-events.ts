import { Type, type Static } from '@sinclair/typebox'
import { ApprovalAnswerSchema, InputAnswerSchema, RunBodySchema, type RunStatus } from '@svc/contract'
import {
  FileChunkSchema,
  OkSchema,
  StartedSchema,
  WatchedSchema,
  type ClientListener,
  type FileChunk,
  type Ok,
  type Started
} from './acknowledgements.ts'
import {
  partial,
  SESSION_ACKNOWLEDGEMENTS,
  SESSION_CLIENT_EVENTS,
  type SessionClientEvents
} from './session-events.ts'
import { VOICE_ACKNOWLEDGEMENTS, VOICE_CLIENT_EVENTS, type VoiceClientEvents } from './voice-events.ts'

const id = (description: string) => Type.String({ minLength: 1, maxLength: 512, description })
const shown = {
  parts: Type.Optional(
    Type.Boolean({
      description: 'True to receive the parts without an event of their own, too; default false'
    })
  ),
  ...partial
}
const strict = { additionalProperties: false } as const

/** `agent.run`, `team.run`, `workflow.run`: starts a run and follows it. */
export const RunEventSchema = Type.Composite(
  [
    Type.Object({
      name: id('The name of the runnable'),
      idempotencyKey: Type.Optional(
        Type.String({
          pattern: '^[!-~]{1,255}$',
          description:
            'The same event with the same key is acknowledged with the run that the first one started'
        })
      ),
      ...shown
    }),
    RunBodySchema
  ],
  { ...strict, title: 'RunEvent' }
)
export type RunEvent = Static<typeof RunEventSchema>

/** `run.cancel`: ends a run. */
export const CancelEventSchema = Type.Object(
  { runId: id('The run to cancel') },
  { ...strict, title: 'CancelEvent' }
)
export type CancelEvent = Static<typeof CancelEventSchema>

/** `run.watch`: follows a run after a given part, also one started elsewhere. */
export const WatchEventSchema = Type.Object(
  {
    runId: id('The run to follow'),
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'The `seq` of the last received event; default 0, from the start'
      })
    ),
    ...shown
  },
  { ...strict, title: 'WatchEvent' }
)
export type WatchEvent = Static<typeof WatchEventSchema>

const byte = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }))

/** `run.file`: reads bytes of a file of a run. */
export const FileEventSchema = Type.Object(
  {
    runId: id('The run of the file'),
    fileId: id('From a `file` part, or the `files` of the output'),
    start: byte('The first byte, counted from 0; default 0'),
    end: byte('The byte after the last one; default: as many as one answer has')
  },
  { ...strict, title: 'FileEvent' }
)
export type FileEvent = Static<typeof FileEventSchema>

/** `approval.answer`: approves or denies a tool call. */
export const AnswerEventSchema = Type.Composite(
  [Type.Object({ approvalId: id('The approval to answer') }), ApprovalAnswerSchema],
  { ...strict, title: 'AnswerEvent' }
)
export type AnswerEvent = Static<typeof AnswerEventSchema>

/** `input.answer`: answers a question, or gives the result of a client tool. */
export const InputAnswerEventSchema = Type.Composite(
  [Type.Object({ inputId: id('The question or client tool to answer') }), InputAnswerSchema],
  { ...strict, title: 'InputAnswerEvent' }
)
export type InputAnswerEvent = Static<typeof InputAnswerEventSchema>

/** The schemas of clients' events. */
export const CLIENT_EVENTS = {
  'agent.run': RunEventSchema,
  'team.run': RunEventSchema,
  'workflow.run': RunEventSchema,
  'run.cancel': CancelEventSchema,
  'run.watch': WatchEventSchema,
  'run.file': FileEventSchema,
  'approval.answer': AnswerEventSchema,
  'input.answer': InputAnswerEventSchema,
  ...SESSION_CLIENT_EVENTS,
  ...VOICE_CLIENT_EVENTS
} as const
export type ClientEvent = keyof typeof CLIENT_EVENTS
/** An event with a JSON payload. */
export type JsonEvent = Exclude<ClientEvent, 'voice.audio'>

/** The schemas of the acknowledgements of accepted events. */
export const ACKNOWLEDGEMENTS = {
  'agent.run': StartedSchema,
  'team.run': StartedSchema,
  'workflow.run': StartedSchema,
  'run.cancel': OkSchema,
  'run.watch': WatchedSchema,
  'run.file': FileChunkSchema,
  'approval.answer': OkSchema,
  'input.answer': OkSchema,
  ...SESSION_ACKNOWLEDGEMENTS,
  ...VOICE_ACKNOWLEDGEMENTS
} as const

/** The events of clients, for `Socket<ServerToClientEvents, ClientToServerEvents>` of `socket.io-client`. */
export interface ClientToServerEvents extends SessionClientEvents, VoiceClientEvents {
  'agent.run': ClientListener<RunEvent, Started>
  'team.run': ClientListener<RunEvent, Started>
  'workflow.run': ClientListener<RunEvent, Started>
  'run.cancel': ClientListener<CancelEvent, Ok>
  'run.watch': ClientListener<WatchEvent, { status: RunStatus }>
  'run.file': ClientListener<FileEvent, FileChunk>
  'approval.answer': ClientListener<AnswerEvent, Ok>
  'input.answer': ClientListener<InputAnswerEvent, Ok>
}
