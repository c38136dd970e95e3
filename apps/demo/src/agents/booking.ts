import { Agent, type Model } from '@svc/runtime'
import { askGuest, bookTable } from '../tools/booking-tools.ts'

const INSTRUCTIONS = `You book tables at restaurants. Ask the guest with ask_guest, never in your answer; then book with
book_table exactly what the form says, and give the number of the booking.`

/** An agent that asks a question with a form, and waits for the answer. */
export function createBooking(model: Model): Agent {
  return new Agent({
    name: 'booking',
    description: 'Books a table. It asks by a form for how many people, and when.',
    instructions: INSTRUCTIONS,
    model,
    tools: [askGuest, bookTable],
    replace: true
  })
}
