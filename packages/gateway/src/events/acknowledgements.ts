import { Type, type Static } from '@sinclair/typebox'

/** The acknowledgement of a refused event. */
export const RefusalSchema = Type.Object(
  { error: Type.String(), code: Type.String({ description: 'Stable, such as `GTW_ERR_BAD_PAYLOAD`' }) },
  { title: 'Refusal' }
)
export type Refusal = Static<typeof RefusalSchema>

/** The acknowledgement of an event that returns nothing. */
export const OkSchema = Type.Object({ ok: Type.Literal(true) }, { title: 'Ok' })
export type Ok = Static<typeof OkSchema>

/** A listener for an event of clients; the acknowledgement is optional. */
export type ClientListener<Payload, Answer> = (
  payload: Payload,
  ack?: (answer: Answer | Refusal) => void
) => void
