import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { notesOf } from './notes-of.ts'

/** Lists all notes with their numbers. */
export const listNotes = defineTool({
  name: 'list_notes',
  description: 'Lists the notes with their numbers.',
  input: Type.Object({}, { additionalProperties: false }),
  async execute(_args, { context }) {
    const notes = await notesOf(context).list()
    return { notes: notes.map(({ id, text }) => ({ id, text })) }
  }
})
