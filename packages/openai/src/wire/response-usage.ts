import type { Usage } from '@svc/contract'

/** The tokens of a response. */
export interface ResponseUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

/** The tokens between two counts of a run. */
export function toResponseUsage(until: Usage, since: Usage): ResponseUsage {
  const difference = (of: (usage: Usage) => number | undefined) =>
    Math.max(0, (of(until) ?? 0) - (of(since) ?? 0))
  return {
    input_tokens: difference((usage) => usage.promptTokens),
    input_tokens_details: { cached_tokens: difference((usage) => usage.cachedPromptTokens) },
    output_tokens: difference((usage) => usage.completionTokens),
    output_tokens_details: { reasoning_tokens: difference((usage) => usage.reasoningTokens) },
    total_tokens: difference((usage) => usage.totalTokens)
  }
}
