import { outcomeOf, type Conversation } from './conversation.ts'
import type { Move } from './rule-model.ts'

const HELP = 'Write “Book a table at Luigi’s”.'
const BOOK = /\b(?:book|reserve)\b.{0,40}\btable\b.{0,20}\bat (.{1,200})/is

interface Reply {
  action: 'accept' | 'decline' | 'cancel'
  content?: { people: number; time: string; outside?: boolean }
}
interface Booking {
  number: string
  place: string
  people: number
  time: string
}

/** Asks the guest by a form, and books what the form says. */
export function answerBookingRequest({ message, outcomes }: Conversation): Move {
  const place = BOOK.exec(message.slice(0, 2_000))?.[1]?.replace(/[.!?\s]+$/, '')
  if (!place) return { answer: HELP }
  const question = { toolName: 'ask_guest', args: { place } }
  const asked = outcomeOf(outcomes, question)
  if (asked === undefined) return { calls: [question] }
  if (asked.error !== undefined) return { answer: `I could not ask: ${asked.error}` }
  const { action, content } = asked.result as Reply
  if (action !== 'accept') return { answer: 'Then I book nothing.' }
  const booking = { toolName: 'book_table', args: { place, ...content } }
  const booked = outcomeOf(outcomes, booking)
  return booked === undefined
    ? { calls: [booking] }
    : { answer: format(booked.result as Booking, booked.error) }
}

function format(booking: Booking, error: string | undefined): string {
  if (error !== undefined) return `I could not book: ${error}`
  const { number, place, people, time } = booking
  return `Booked: a table for ${people} at ${place} at ${time}, number ${number}.`
}
