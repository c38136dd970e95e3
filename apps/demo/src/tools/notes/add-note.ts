import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { MAX_NOTE, notesOf } from './notes-of.ts'

/** Keeps a note under a number that was never used before. */
export const addNote = defineTool({
  name: 'add_note',
  description: 'Keeps a note and returns its number.',
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
