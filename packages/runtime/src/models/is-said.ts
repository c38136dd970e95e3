import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

/**
 * True for a part in which the model says something: text, reasoning, tool input, a file or a source. Provider packages stream much
 * else that keeps their books: metadata, markers of blocks, `custom` parts, `raw` chunks.
 */
export function isSaid(part: LanguageModelV4StreamPart): boolean {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'tool-input-delta':
      return part.delta !== ''
    case 'tool-input-start':
    case 'tool-call':
    case 'tool-result':
    case 'tool-approval-request':
    case 'file':
    case 'reasoning-file':
    case 'source':
      return true
    case 'text-end':
      return part.citations !== undefined
    default:
      return false
  }
}
