import type { AskingPart } from '@svc/contract'
import type { Interrupt, Tag } from '../wire/events.ts'

/** What a run asks for. */
export type AskedKind = 'approval' | 'tool' | 'input'

/** Gives the id in the thread of a call of the log. */
type CallIdOf = (call: { toolCallId: string; source?: string[] | undefined }) => string | undefined

/** What a run has asked for, answered or not, by the ids of the inputs. Calls of the client's tools are no interrupts. */
export class Interrupts {
  readonly #asked = new Map<string, { readonly kind: AskedKind; readonly tag: Tag }>()

  add(part: AskingPart, tag: Tag): void {
    if (part.type === 'tool.approval.request') this.#asked.set(part.approvalId, { kind: 'approval', tag })
    else this.#asked.set(part.inputId, { kind: part.kind === 'tool' ? 'tool' : 'input', tag })
  }

  /** What the run has asked for with this id; undefined if nothing. */
  kindOf(inputId: string): AskedKind | undefined {
    return this.#asked.get(inputId)?.kind
  }

  /** The interrupts of what the run waits for. */
  of(pending: ReadonlyMap<string, AskingPart>, callIdOf: CallIdOf): Interrupt[] {
    return Array.from(pending).flatMap(([inputId, part]) => {
      const { kind, tag } = this.#asked.get(inputId) ?? {}
      if (kind === undefined || kind === 'tool') return []
      const { toolCallId, source } = part
      const callId = toolCallId === undefined ? undefined : callIdOf({ toolCallId, source })
      return [toInterrupt(part, callId, tag!)]
    })
  }
}

/** What the answer to an approval looks like: `editedArgs` replace the arguments. */
const APPROVAL_SCHEMA = Object.freeze({
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', description: 'Why not' },
    editedArgs: { type: 'object', description: 'Replace the arguments of the call as a whole' }
  },
  required: ['approved']
})

// The id is that of the call in the thread.
function toInterrupt(part: AskingPart, toolCallId: string | undefined, tag: Tag): Interrupt {
  const { expiresAt } = part
  const about = { ...(toolCallId !== undefined && { toolCallId }), expiresAt, ...tag }
  if (part.type === 'tool.approval.request') {
    const { approvalId: id, toolName } = part
    const message = `May the tool "${toolName}" be called?`
    return { id, reason: 'tool_call', message, responseSchema: APPROVAL_SCHEMA, ...about }
  }
  const { inputId: id, kind, message, schema } = part
  return {
    id,
    reason: kind === 'auth' ? 'svc:auth' : 'input_required',
    ...(message !== undefined && { message }),
    ...(typeof schema === 'object' && schema !== null && { responseSchema: schema }),
    ...about
  }
}
