import { Agent, type Model } from '@svc/runtime'
import { addNote, deleteNote, listNotes } from '../tools/notes/note-tools.ts'

const INSTRUCTIONS = `You keep notes for the user. Use add_note, list_notes and delete_note; never make up a note.
A deletion waits for an approval: if it was denied, say so.`

/** An agent with a tool that needs an approval. */
export function createNotes(model: Model): Agent {
  return new Agent({
    name: 'notes',
    description: 'Keeps notes. To delete one it asks for an approval.',
    instructions: INSTRUCTIONS,
    model,
    tools: [addNote, listNotes, deleteNote],
    replace: true
  })
}
