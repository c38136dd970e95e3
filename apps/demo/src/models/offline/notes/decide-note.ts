import type { ToolOutcome } from '../conversation.ts'
import { outcomeOf } from '../conversation.ts'
import type { PlannedCall } from '../plan.ts'

const HELP = 'Tell me “note: buy milk”, “list my notes” or “delete note 1”.'
const POLITE = /^(?:please |(?:can|could|would|will) you (?:please )?)/i
const LIST =
  /^(?:list|show|tell me)\b.{0,40}\bnotes?\b|^(?:what|which|how many|are there|do i have|have i|my)\b.{0,40}\bnotes\b/i
const NOTE =
  /^(?:(?:(?:add|make|take|keep|write) (?:me )?(?:a |the )?)?note(?: that|:|,| of)?|(?:write|jot|note) down(?: that|:|,)?|remember to|remind me (?:to|that|of)) (.+)$/is

interface Note {
  id: string
  text: string
}

/** What a message asks of the notes: one call, or nothing that is understood. */
export function readNoteRequest(message: string): PlannedCall | undefined {
  const text = message.trim().slice(0, 2_000).replace(POLITE, '')
  const removal = /^(?:delete|remove|forget) (?:the |my )?note (?:number |no\. ?|#)?(\d{1,6})\b/i.exec(text)
  if (removal !== null) return { toolName: 'delete_note', args: { id: removal[1] } }
  if (LIST.test(text)) return { toolName: 'list_notes', args: {} }
  const note = NOTE.exec(text)
  if (note !== null) return { toolName: 'add_note', args: { text: note[1]!.trim() } }
  return undefined
}

/** The answer to a message, once its call has been made. */
export function answerNoteRequest(call: PlannedCall | undefined, outcomes: readonly ToolOutcome[]): string {
  const outcome = call && outcomeOf(outcomes, call)
  if (call === undefined || outcome === undefined) return HELP
  if (outcome.error !== undefined) return `I could not do that: ${outcome.error}`
  switch (call.toolName) {
    case 'add_note': {
      const { id, text } = outcome.result as Note
      return `Noted as number ${id}: ${text}`
    }
    case 'delete_note': {
      const { id, deleted } = outcome.result as { id: string; deleted: boolean }
      return deleted ? `Note ${id} is gone.` : `There is no note ${id}.`
    }
    default: {
      const { notes } = outcome.result as { notes: Note[] }
      return notes.length === 0
        ? `You have no notes. ${HELP}`
        : notes.map(({ id, text }) => `${id}. ${text}`).join('\n')
    }
  }
}
