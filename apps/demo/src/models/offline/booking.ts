import { callThenAnswer, outcomeOf, type Conversation, type Move } from './rule-model.ts'

const HELP = 'Write “Book a table at Luigi’s”.'
const BOOK = /\b(?:book|reserve)\b.{0,40}\btable\b.{0,20}\bat (.{1,200})/is

/** Asks the guest by a form, and books what the form says. */
export function bookTable({ message, outcomes }: Conversation): Move {
  const place = BOOK.exec(message.slice(0, 2_000))?.[1]?.replace(/[.!?\s]+$/, '')
  if (!place) return { answer: HELP }
  const question = { toolName: 'ask_guest', args: { place } }
  const asked = outcomeOf(outcomes, question)
  if (asked === undefined) return { calls: [question] }
  if (asked.error !== undefined) return { answer: `I could not ask: ${asked.error}` }
  const { action, content } = asked.result as { action: string; content?: { people: number; time: string } }
  if (action !== 'accept') return { answer: 'Then I book nothing.' }
  return callThenAnswer(outcomes, { toolName: 'book_table', args: { place, ...content } }, (booked) => {
    if (booked.error !== undefined) return `I could not book: ${booked.error}`
    const { number, people, time } = booked.result as { number: string; people: number; time: string }
    return `Booked: a table for ${people} at ${place} at ${time}, number ${number}.`
  })
}
