import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { notesOf } from './notes-of.ts'

/** Deletes a note after an approval. */
export const deleteNote = defineTool({
  name: 'delete_note',
  description: 'Deletes a note by its number. The user is asked for approval first.',
  input: Type.Object({ id: Type.String({ pattern: '^[0-9]{1,6}$' }) }, { additionalProperties: false }),
  approval: true,
  async execute({ id }, { context }) {
    return { id, deleted: await notesOf(context).remove(id) }
  }
})
