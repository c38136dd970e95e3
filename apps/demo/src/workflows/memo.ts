import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Runnable } from '@svc/registry'
import { Workflow } from '@svc/runtime'
import { MAX_NOTE, notesOf } from '../tools/notes/notes-of.ts'

const DAY = 86_400_000
const EditedSchema = Type.Object({ text: Type.String({ minLength: 1, maxLength: MAX_NOTE }) })

/**
 * The workflow of the demo: an agent drafts a memo, a person approves or edits it, and it is kept as a note. The wait survives a
 * restart. The number of the note is a step of its own, so that a repeated `keep` writes the same note.
 */
export function createMemo(writer: Runnable): Workflow {
  return new Workflow({
    name: 'memo',
    description: 'Writes about what you ask, waits for an approval of the text, and keeps it as a note.',
    replace: true,
    steps: (flow) =>
      flow
        .step('draft', writer)
        .step('cut', ({ previous }) => previous.slice(0, MAX_NOTE))
        .wait('review', {
          approval: { toolName: 'keep_memo', args: ({ previous }) => ({ text: previous }), timeout: DAY }
        })
        .step('text', ({ steps }) => edited(steps.review.args) ?? steps.cut)
        .step('number', ({ context }) => notesOf(context).nextId())
        .step('keep', async ({ steps, context }) => {
          await notesOf(context).add(steps.number, steps.text)
          return `Kept as note ${steps.number}: ${steps.text}`
        })
  })
}

function edited(args: unknown): string | undefined {
  if (args === undefined) return undefined
  if (!Value.Check(EditedSchema, args)) throw new Error(`a memo is { text }, of 1 to ${MAX_NOTE} characters`)
  return args.text
}
