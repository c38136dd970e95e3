import type { MessagePart } from '../model/message.ts'
import { badParams } from '../wire/decode-params.ts'

/** A message that may be an answer: a bare text, or data that names the input. Its values are not checked yet. */
export type GivenAnswer =
  | { text: string }
  | { list: 'approvals' | 'inputs'; inputId: string; answer: Record<string, unknown> }

const FORMS = {
  approvals: {
    id: 'approvalId',
    decides: 'approved',
    fields: new Set(['approvalId', 'approved', 'reason', 'args'])
  },
  inputs: { id: 'inputId', decides: 'action', fields: new Set(['inputId', 'action', 'content']) }
} as const

/**
 * Reads a message as an answer: a single part, either a text, or data of the form `{ approvalId, approved, reason?, args? }` or
 * `{ inputId, action, content? }`. In doubt a message is no answer.
 * @throws A2A_ERR_BAD_PARAMS
 */
export function readAnswer(parts: readonly MessagePart[]): GivenAnswer | undefined {
  const [part, another] = parts
  if (part === undefined || another !== undefined || isQualified(part)) return undefined
  if ('text' in part) return { text: part.text }
  return 'data' in part ? fromData(part.data) : undefined
}

// A thought, a quotation or a file's content is not a statement of its sender.
function isQualified({ metadata = {}, filename, mediaType, ...content }: MessagePart): boolean {
  const type = 'text' in content ? 'text/plain' : 'application/json'
  return filename !== undefined || (mediaType ?? type) !== type || Object.keys(metadata).length > 0
}

function fromData(data: unknown): GivenAnswer | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  for (const list of ['approvals', 'inputs'] as const) {
    const { id, decides, fields } = FORMS[list]
    const { [id]: inputId, ...answer } = data as Record<string, unknown>
    if (inputId === undefined || Object.keys(data).some((name) => !fields.has(name))) continue
    if (typeof answer[decides] !== (list === 'approvals' ? 'boolean' : 'string')) continue
    if (typeof inputId !== 'string') throw badParams('message.parts', `Expected string as ${id}`)
    return { list, inputId, answer }
  }
  return undefined
}
