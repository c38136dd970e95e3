import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { notesOf } from './notes-of.ts'

/** Deletes one note, once somebody has approved of it. */
export const deleteNote = defineTool({
  name: 'delete_note',
  description: 'Deletes the note with a number. The user is asked for an approval first.',
  input: Type.Object({ id: Type.String({ pattern: '^[0-9]{1,6}$' }) }, { additionalProperties: false }),
  approval: true,
  async execute({ id }, { context }) {
    return { id, deleted: await notesOf(context).remove(id) }
  }
})
