import { callThenAnswer, type Call, type Conversation, type Move, type Outcome } from './rule-model.ts'

const HELP = 'Write “note: buy milk”, “list my notes” or “delete note 1”.'
const DELETE = /^(?:please )?delete (?:the |my )?note #?(\d{1,6})\b/i
const LIST = /^(?:list|show|what|my)\b.{0,40}\bnotes\b/i
const ADD = /^(?:please )?(?:note(?: that|:)|remind me (?:to|that)) (.+)$/is

interface Note {
  id: string
  text: string
}

/** Does what a message asks of the notes, in one call. */
export function keepNotes({ message, outcomes }: Conversation): Move {
  const call = readNoteRequest(message)
  return call === undefined ? { answer: HELP } : callThenAnswer(outcomes, call, format)
}

/** The call that a message asks for, if any. */
export function readNoteRequest(message: string): Call | undefined {
  const text = message.slice(0, 2_000).trim()
  const id = DELETE.exec(text)?.[1]
  if (id !== undefined) return { toolName: 'delete_note', args: { id } }
  if (LIST.test(text)) return { toolName: 'list_notes', args: {} }
  const added = ADD.exec(text)?.[1]
  return added === undefined ? undefined : { toolName: 'add_note', args: { text: added.trim() } }
}

function format({ toolName, result, error }: Outcome): string {
  if (error !== undefined) return `I could not do that: ${error}`
  const { id, text, deleted, notes = [] } = result as Partial<Note> & { deleted?: boolean; notes?: Note[] }
  if (toolName === 'add_note') return `Noted as number ${id}: ${text}`
  if (toolName === 'delete_note') return deleted === true ? `Note ${id} is gone.` : `There is no note ${id}.`
  return notes.map((note) => `${note.id}. ${note.text}`).join('\n') || `You have no notes. ${HELP}`
}
