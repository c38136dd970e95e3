import type { RunFile } from '@svc/contract'
import { toBlocks, type UserBlock } from '../wire/blocks.ts'

/** The blocks of what a run was asked, as its log has it. */
export function toUserBlocks(input: unknown): UserBlock[] {
  if (typeof input === 'string') return toBlocks(input)
  if (!Array.isArray(input) || !input.every(isContent)) return toBlocks(JSON.stringify(input))
  return input.map(toBlock)
}

type Content = Partial<RunFile> & { readonly type: string; readonly text?: string }

function isContent(value: unknown): value is Content {
  const { type, text, mimeType } = (value ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : typeof type === 'string' && typeof mimeType === 'string'
}

// A file whose content is not kept is named.
function toBlock({ type, text = '', url, mimeType = '', filename }: Content): UserBlock {
  if (type === 'text') return { type, text }
  if (url === undefined) return { type: 'text', text: `[${filename ?? mimeType}]` }
  const source = { type: 'url', url } as const
  if (type === 'image') return { type, source }
  return filename === undefined ? { type: 'document', source } : { type: 'document', source, title: filename }
}
