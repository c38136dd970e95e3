import type { RunFile } from '@svc/registry'
import type { FileUrl } from '@svc/registry/wire-kit'
import type { UiMessage, UiPart } from '../wire/messages.ts'
import { INPUT_PART } from './to-input.ts'

/**
 * The message of the user that began a run, as the run or the session keeps it. Files whose content is not kept are described by a
 * `data-file` part.
 */
export function toUserMessage(runId: string, input: unknown, fileUrl: FileUrl): UiMessage {
  const id = `${runId}.input`
  return { id, role: 'user', parts: toParts(input, runId, fileUrl) }
}

function toParts(input: unknown, runId: string, fileUrl: FileUrl): UiPart[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }]
  if (Array.isArray(input) && input.every(isContent)) return input.map((each) => toPart(each, runId, fileUrl))
  return input === undefined ? [] : [{ type: INPUT_PART, data: input }]
}

type Content = Partial<RunFile> & { readonly type: string; readonly text?: string }

function isContent(value: unknown): value is Content {
  const { type, text, mimeType } = (value ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : typeof type === 'string' && typeof mimeType === 'string'
}

function toPart(content: Content, runId: string, fileUrl: FileUrl): UiPart {
  const { type, text, mimeType = '', filename, size, sha256 } = content
  if (type === 'text') return { type, text }
  const url = fileUrl({ ...content, mimeType }, runId)
  const named = filename !== undefined && { filename }
  if (url !== undefined) return { type: 'file', mediaType: mimeType, url, ...named }
  const data = {
    mediaType: mimeType,
    ...named,
    ...(size !== undefined && { size }),
    ...(sha256 && { sha256 })
  }
  return { type: 'data-file', data }
}
