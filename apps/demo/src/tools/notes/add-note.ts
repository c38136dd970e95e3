import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { MAX_NOTES, notesOf } from './notes-of.ts'

/** Keeps a note; its number is one more than the highest so far. */
export const addNote = defineTool({
  name: 'add_note',
  description: 'Keeps a note and tells its number.',
  input: Type.Object(
    { text: Type.String({ minLength: 1, maxLength: 2_000 }) },
    { additionalProperties: false }
  ),
  async execute({ text }, context) {
    const notes = notesOf(context)
    const all = await notes.list()
    if (all.length >= MAX_NOTES) throw new Error(`there are ${MAX_NOTES} notes already`)
    const id = String(Math.max(0, ...all.map((note) => Number(note.id))) + 1)
    await notes.add(id, text)
    return { id, text }
  }
})
