import type { NumberedPart, Stores } from '@svc/contract'
import { readPresent, steerOf } from '@svc/surface'
import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'
import { ResponseBuilder } from './response-builder.ts'
import type { ItemsQuery } from './response-schemas.ts'

/** An item that a request gave. */
export type GivenItem = Readonly<Record<string, unknown>> & { readonly id: string }

/** A page of items, in a list of the protocol. */
export interface ItemPage {
  readonly object: 'list'
  readonly data: readonly GivenItem[]
  readonly first_id: string | null
  readonly last_id: string | null
  readonly has_more: boolean
}

const LIMIT = 20

/**
 * Reads what a response was asked, oldest first: the message of its run or the answers with which it continues, and messages that joined
 * it.
 */
export async function readInputItems(stores: Stores, runId: string, id: string): Promise<GivenItem[]> {
  const builder = new ResponseBuilder()
  const items: GivenItem[] = []
  for await (const { part } of readPresent(stores, runId)) {
    builder.add(part)
    if (builder.id !== id) continue
    items.push(...toInputItems(part, builder, runId))
    if (builder.isOver) break
  }
  return items
}

/** A page of items. @throws OPENAI_ERR_BAD_REQUEST if there is no item `after` */
export function pageOf(
  items: readonly GivenItem[],
  { after, limit = LIMIT, order = 'desc' }: ItemsQuery
): ItemPage {
  const ordered = order === 'asc' ? items : items.toReversed()
  const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== undefined && before < 0) throw new OPENAI_ERR_BAD_REQUEST('after: no item has this id')
  const data = ordered.slice(before + 1, before + 1 + limit)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < ordered.length
  }
}

/** The items of what a part of a run was asked. */
export function toInputItems(part: NumberedPart, { calls }: ResponseBuilder, runId: string): GivenItem[] {
  const id = `${runId}_${part.seq}`
  const toMessage = (input: unknown): GivenItem[] => [
    { type: 'message', id: `msg_${id}`, status: 'completed', role: 'user', content: toContent(input) }
  ]
  const toOutput = (callId: string, output: unknown): GivenItem[] => [
    {
      type: 'function_call_output',
      id: `fco_${id}`,
      status: 'completed',
      call_id: callId,
      output: typeof output === 'string' ? output : JSON.stringify(output ?? null)
    }
  ]
  switch (part.type) {
    case 'start':
      return part.input === undefined ? [] : toMessage(part.input)
    case 'data': {
      const steer = steerOf(part)
      return steer === undefined ? [] : toMessage(steer.message)
    }
    case 'tool.approval.response': {
      const { approvalId, approved: approve, reason = null } = part
      return [
        { type: 'mcp_approval_response', id: `mcpr_${id}`, approval_request_id: approvalId, approve, reason }
      ]
    }
    // Those to tools are in their results, and secrets nowhere.
    case 'input.response':
      return part.content === undefined ? [] : toOutput(part.inputId, part.content)
    case 'tool.result':
    case 'tool.error': {
      const callId = calls.clientCallId(part)
      if (callId === undefined) return []
      return toOutput(callId, part.type === 'tool.result' ? part.result : { error: part.error })
    }
    default:
      return []
  }
}

// Files are kept by reference, which the protocol has no part for.
function toContent(input: unknown): object[] {
  if (typeof input === 'string') return [{ type: 'input_text', text: input }]
  if (!Array.isArray(input)) return [{ type: 'input_text', text: JSON.stringify(input) }]
  return (input as Readonly<Record<string, unknown>>[]).map((part) => {
    if (part['type'] === 'text') return { type: 'input_text', text: part['text'] }
    const { url, filename, mimeType } = part
    return part['type'] === 'image' && url !== undefined
      ? { type: 'input_image', image_url: url, detail: 'auto' }
      : { type: 'input_file', filename: filename ?? mimeType, ...(url !== undefined && { file_url: url }) }
  })
}
