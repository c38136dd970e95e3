import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import type { PromptMessage } from '@svc/runtime'
import { enclosedIn, withoutEnclosed } from './boundary.ts'

/** Results whose pages stay whole, besides those that later changes refer to. */
const KEPT = 2

/** Shortens the results with earlier states of pages to one line each; undefined if all are short. */
export function withoutOldPages(messages: readonly PromptMessage[]): PromptMessage[] | undefined {
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? message.content.filter(hasPage) : []
  )
  const lastWhole = results.findLastIndex((part) => enclosedIn(textOf(part)).includes('whole'))
  const first = Math.min(results.length - KEPT, lastWhole === -1 ? results.length : lastWhole)
  const old = new Set<unknown>(results.slice(0, Math.max(0, first)))
  if (old.size === 0) return undefined
  return messages.map((message) =>
    message.role === 'tool'
      ? {
          ...message,
          content: message.content.map((part) => (old.has(part) && hasPage(part) ? shorten(part) : part))
        }
      : message
  )
}

function hasPage(part: { readonly type: string }): part is LanguageModelV4ToolResultPart {
  return part.type === 'tool-result' && enclosedIn(textOf(part as LanguageModelV4ToolResultPart)).length > 0
}

function textOf({ output }: LanguageModelV4ToolResultPart): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value
  if (output.type !== 'content') return ''
  return output.value.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function shorten(part: LanguageModelV4ToolResultPart): LanguageModelV4ToolResultPart {
  const output: LanguageModelV4ToolResultOutput = { type: 'text', value: withoutEnclosed(textOf(part)) }
  return { ...part, output }
}
