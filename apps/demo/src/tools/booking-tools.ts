import { hash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'

const place = Type.String({ minLength: 1, maxLength: 200 })
const strict = { additionalProperties: false } as const

/** The form that the guest fills in. */
const GuestFormSchema = Type.Object(
  {
    people: Type.Integer({ title: 'People', minimum: 1, maximum: 20 }),
    time: Type.String({ title: 'Time', description: 'HH:MM', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' }),
    outside: Type.Optional(Type.Boolean({ title: 'A table outside' }))
  },
  strict
)

/** Asks the guest by a form; the run waits for the answer, across restarts too. */
export const askGuest = defineTool({
  name: 'ask_guest',
  description: 'Asks the guest how many people come and when. Declined: do not book.',
  inputSchema: Type.Object({ place }, strict),
  // Called again after a restart, it finds the question that it asked.
  idempotent: true,
  execute: ({ place: at }, { ask }) =>
    ask({ message: `A table at ${at}: for how many people, and when?`, schema: GuestFormSchema })
})

/** Books a table. The number of a booking follows from its idempotency key, so that a repeated call books nothing else. */
export const bookTable = defineTool({
  name: 'book_table',
  description: 'Books a table and returns the number of the booking.',
  inputSchema: Type.Object({ place, ...GuestFormSchema.properties }, strict),
  idempotent: true,
  execute: (booking, { idempotencyKey }) => ({
    number: hash('sha256', idempotencyKey, 'hex').slice(0, 6).toUpperCase(),
    ...booking
  })
})
