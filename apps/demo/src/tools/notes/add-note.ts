import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { MAX_NOTE, notesOf } from './notes-of.ts'

/** Keeps a note; its number is one that no note had before. */
export const addNote = defineTool({
  name: 'add_note',
  description: 'Keeps a note and tells its number.',
  input: Type.Object(
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
