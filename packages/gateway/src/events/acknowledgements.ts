import { Type, type Static } from '@sinclair/typebox'
import { RunStatusSchema } from '@svc/contract'

/** The acknowledgement of a refused event. */
export const RefusalSchema = Type.Object(
  {
    error: Type.String(),
    code: Type.String({ description: 'Stable, such as `GTW_ERR_BAD_PAYLOAD`' }),
    runId: Type.Optional(
      Type.String({ description: 'With `RUN_ERR_SESSION_BUSY`: the run that has the turn of the session' })
    )
  },
  { title: 'Refusal' }
)
export type Refusal = Static<typeof RefusalSchema>

/** The acknowledgement of an event that returns nothing. */
export const OkSchema = Type.Object({ ok: Type.Literal(true) }, { title: 'Ok' })
export type Ok = Static<typeof OkSchema>

/** The acknowledgement of a started run. */
export const StartedSchema = Type.Object(
  {
    runId: Type.String(),
    replayed: Type.Optional(
      Type.Literal(true, { description: 'An earlier event with this `idempotencyKey` has started this run' })
    ),
    joined: Type.Optional(
      Type.Literal(true, {
        description: 'The message has joined this run, which was under way (`whenBusy: steer`)'
      })
    )
  },
  { title: 'Started' }
)
export type Started = Static<typeof StartedSchema>

/** Bytes of a file. The rest follows from `end` on, until that is the `size` of the file. */
export const FileChunkSchema = Type.Object(
  {
    file: Type.Object({
      fileId: Type.String(),
      mimeType: Type.String({ description: 'As the run says: a file may be anything' }),
      filename: Type.Optional(Type.String()),
      size: Type.Integer({ description: 'Bytes' }),
      sha256: Type.String()
    }),
    start: Type.Integer({ description: 'The first byte in `data`' }),
    end: Type.Integer({ description: 'The byte after the last one in `data`' }),
    data: Type.Unsafe<Uint8Array<ArrayBuffer> | ArrayBuffer>({
      type: 'string',
      format: 'binary',
      description:
        'At most 262,144 bytes, as an attachment of the packet: a Buffer in Node, an ArrayBuffer in browsers'
    })
  },
  { title: 'FileChunk' }
)
export type FileChunk = Static<typeof FileChunkSchema>

/** The acknowledgement of a followed run. */
export const WatchedSchema = Type.Object({ status: RunStatusSchema }, { title: 'Watched' })

/** The acknowledgement of a call that was started or continued. */
export const CallSchema = Type.Object({ runId: Type.String(), sessionId: Type.String() }, { title: 'Call' })
export type Call = Static<typeof CallSchema>

/** A listener for an event of clients; the acknowledgement is optional. */
export type ClientListener<Payload, Answer> = (
  payload: Payload,
  ack?: (answer: Answer | Refusal) => void
) => void
