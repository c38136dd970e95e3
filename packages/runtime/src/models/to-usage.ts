import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Usage } from '@svc/registry'

type Optional = 'cachedPromptTokens' | 'cacheWriteTokens' | 'reasoningTokens'

/** The usage of a model call; leaves out the counts that the provider did not report. */
export function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage {
  const promptTokens = inputTokens.total || 0
  const completionTokens = outputTokens.total || 0
  const usage: Usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
  const add = (name: Optional, count: number | undefined, word: RegExp) => {
    // Some provider packages replace a missing count by 0.
    if (count === 0 ? raw === undefined || mentions(raw, word) : Number.isFinite(count)) usage[name] = count!
  }
  add('cachedPromptTokens', inputTokens.cacheRead, /cached|cache_?(?:read|hit)/i)
  add('cacheWriteTokens', inputTokens.cacheWrite, /cache_?(?:creation|write)/i)
  add('reasoningTokens', outputTokens.reasoning, /reason|think|thought/i)
  return usage
}

function mentions(raw: object, word: RegExp): boolean {
  return Object.entries(raw).some(
    ([name, value]: [string, unknown]) =>
      value !== null &&
      value !== undefined &&
      (word.test(name) || (typeof value === 'object' && mentions(value, word)))
  )
}
