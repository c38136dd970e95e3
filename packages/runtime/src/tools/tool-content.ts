import type { ContentPart, ContentReference } from '@svc/contract'
import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'
import { toReference } from '../files/urls.ts'

/** A piece of a tool's result: text, or binary content as base64. */
export type ToolContentPart =
  | Extract<ContentPart, { text: string }>
  | (Exclude<ContentPart, { url: string } | { text: string }> & {
      /** Of the `file` part, such as `screenshot`. */
      purpose?: string
    })

const brand: unique symbol = Symbol.for('svc.tool-content') as never

/** A result with images, audio or files. */
export interface ToolContent {
  readonly [brand]: readonly ToolContentPart[]
}

const MAX_BYTES = 10 * 1024 * 1024

/**
 * Makes a result with more than text, at most 10 MiB. The model sees all of it in this turn; the log of the run and the
 * session keep references instead of the bytes, which the file store of the app keeps: see the `file` parts of the call.
 */
export function toolContent(parts: readonly ToolContentPart[]): ToolContent {
  return { [brand]: [...parts] }
}

/** The parts of a result of `toolContent`; undefined for any other result. */
export function contentOf(result: unknown): readonly ToolContentPart[] | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  // Reads an own property only, so that no accessor of the tool runs.
  return Object.getOwnPropertyDescriptor(result, brand)?.value as readonly ToolContentPart[] | undefined
}

/** Such a result in the log and in `toolCalls`: binary content is replaced by references. */
export interface ReferencedContent {
  content: (ToolContentPart | ContentReference)[]
}

/** Content for logs and sessions. @throws RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE */
export async function toReferences(parts: readonly ToolContentPart[]): Promise<ReferencedContent> {
  const size = parts.reduce((sum, part) => sum + sizeOf(part), 0)
  if (size > MAX_BYTES) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(size, MAX_BYTES)
  const content = await Promise.all(parts.map(toReference))
  return { content: content as ReferencedContent['content'] }
}

function sizeOf(part: ToolContentPart): number {
  if (part.type === 'text' && typeof part.text === 'string') return Buffer.byteLength(part.text)
  if (part.type !== 'text' && typeof part.data === 'string' && typeof part.mimeType === 'string')
    return Buffer.byteLength(part.data, 'base64')
  throw new RUN_ERR_TOOL_BAD_OUTPUT('a part of its content is neither text nor data with a mimeType')
}
