import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { MAX_NOTE, notesOf } from './notes-of.ts'

/** Keeps a note under a number that was never used before. */
export const addNote = defineTool({
  name: 'add_note',
  description: 'Keeps a note and returns its number.',
  inputSchema: Type.Object(
    { text: Type.String({ minLength: 1, maxLength: MAX_NOTE }) },
    { additionalProperties: false }
  ),
  async execute({ text }, { context }) {
    const notes = notesOf(context)
    const id = await notes.nextId()
    await notes.add(id, text)
    return { id, text }
  }
})

/** Lists all notes with their numbers. */
export const listNotes = defineTool({
  name: 'list_notes',
  description: 'Lists the notes with their numbers.',
  inputSchema: Type.Object({}, { additionalProperties: false }),
  async execute(_args, { context }) {
    const notes = await notesOf(context).list()
    return { notes: notes.map(({ id, text }) => ({ id, text })) }
  }
})

/** Deletes a note after an approval. */
export const deleteNote = defineTool({
  name: 'delete_note',
  description: 'Deletes a note by its number. The user is asked for approval first.',
  inputSchema: Type.Object({ id: Type.String({ pattern: '^[0-9]{1,6}$' }) }, { additionalProperties: false }),
  approval: true,
  async execute({ id }, { context }) {
    return { id, deleted: await notesOf(context).remove(id) }
  }
})
