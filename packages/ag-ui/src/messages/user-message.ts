import type { RunFile } from '@svc/contract'
import type { FileUrl } from '@svc/surface'
import type { AgUiMessage } from '../wire/input.ts'

/** The message of the user that began a run, as the run or the session keeps it; undefined if it is kept nowhere. */
export function toUserMessage(runId: string, input: unknown, fileUrl: FileUrl): AgUiMessage | undefined {
  if (input === undefined) return undefined
  return { id: `${runId}-input`, role: 'user', content: toContent(input, runId, fileUrl) }
}

function toContent(input: unknown, runId: string, fileUrl: FileUrl): unknown {
  if (typeof input === 'string') return input
  if (!Array.isArray(input) || !input.every(isContent)) return JSON.stringify(input)
  return input.map((each) => toPart(each, runId, fileUrl))
}

type Content = Partial<RunFile> & { readonly type: string; readonly text?: string }

function isContent(value: unknown): value is Content {
  const { type, text, mimeType } = (value ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : typeof type === 'string' && typeof mimeType === 'string'
}

// A file whose content is not kept is named.
function toPart(content: Content, runId: string, fileUrl: FileUrl): object {
  const { type, text, mimeType = '', filename } = content
  if (type === 'text') return { type, text }
  const value = fileUrl({ ...content, mimeType }, runId)
  if (value === undefined) return { type: 'text', text: `[${filename ?? mimeType}]` }
  const kind = type === 'file' ? (mimeType.startsWith('video/') ? 'video' : 'document') : type
  const named = filename !== undefined && { metadata: { filename } }
  return { type: kind, source: { type: 'url', value, mimeType }, ...named }
}
