import type { MessagePart } from '../model/message.ts'
import { badParams } from '../wire/decode-params.ts'
import { textOf } from './to-input.ts'

/** The text of a message; exact if it is the only part, and nothing is said about it. */
export interface TextAnswer {
  readonly text: string
  readonly isExact: boolean
}

/** A message that may be an answer: its text, or data that names the input. Its values are not checked yet. */
export type GivenAnswer =
  | TextAnswer
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
 * Reads a message as an answer: text parts, apart from thoughts of the client's model, or a single part with data of the form
 * `{ approvalId, approved, reason?, args? }` or `{ inputId, action, content? }`. In doubt a message is no answer.
 * @throws A2A_ERR_BAD_PARAMS
 */
export function readAnswer(parts: readonly MessagePart[]): GivenAnswer | undefined {
  const [part, another] = parts
  if (part === undefined) return undefined
  const isExact = another === undefined && !isAttached(part) && Object.keys(part.metadata ?? {}).length === 0
  if ('data' in part) return isExact ? fromData(part.data) : undefined
  const said = parts.filter((each) => !isThought(each))
  if (said.length === 0 || !said.every((each) => 'text' in each && !isAttached(each))) return undefined
  return { text: textOf(said), isExact }
}

// The content of a file is not a statement of its sender.
function isAttached({ filename, mediaType, ...content }: MessagePart): boolean {
  const type = 'text' in content ? 'text/plain' : 'application/json'
  return filename !== undefined || (mediaType ?? type) !== type
}

// As agents mark them that are clients.
function isThought({ metadata = {} }: MessagePart): boolean {
  return metadata['thought'] === true || metadata['adk_thought'] === true
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
