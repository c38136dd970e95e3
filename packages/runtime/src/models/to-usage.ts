import type { LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Usage } from '@svc/contract'

type Optional = 'cachedPromptTokens' | 'cacheWriteTokens' | 'reasoningTokens'

/** What a model reports as its usage: not every provider package keeps to the specification. */
type Reported = { readonly [Name in keyof LanguageModelV4Usage]?: Partial<LanguageModelV4Usage[Name]> | null }

/** The usage of a model call, without the counts that the provider did not report; undefined if it reported none. */
export function toUsage(reported: Reported | null | undefined): Usage | undefined {
  const { inputTokens, outputTokens, raw } = reported ?? {}
  if (!isCount(inputTokens?.total) && !isCount(outputTokens?.total)) return undefined
  const promptTokens = isCount(inputTokens?.total) ? inputTokens.total : 0
  const completionTokens = isCount(outputTokens?.total) ? outputTokens.total : 0
  const usage: Usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
  const add = (name: Optional, count: number | undefined, word: RegExp) => {
    // Some provider packages replace a missing count by 0.
    if (isCount(count) && (count > 0 || !raw || mentions(raw, word))) usage[name] = count
  }
  add('cachedPromptTokens', inputTokens?.cacheRead, /cached|cache_?(?:read|hit)/i)
  add('cacheWriteTokens', inputTokens?.cacheWrite, /cache_?(?:creation|write)/i)
  add('reasoningTokens', outputTokens?.reasoning, /reason|think|thought/i)
  return usage
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0
}

function mentions(raw: object, word: RegExp): boolean {
  return Object.entries(raw).some(
    ([name, value]: [string, unknown]) =>
      value !== null &&
      value !== undefined &&
      (word.test(name) || (typeof value === 'object' && mentions(value, word)))
  )
}
