import { Type, type Static } from '@sinclair/typebox'

/**
 * Tokens used, summed over every model call of a run, those of members and steps included. The optional ones are absent, not 0,
 * where no provider reported them.
 */
export const UsageSchema = Type.Object(
  {
    promptTokens: Type.Number(),
    completionTokens: Type.Number(),
    totalTokens: Type.Number(),
    cachedPromptTokens: Type.Optional(Type.Number({ description: 'Prompt tokens read from a cache' })),
    cacheWriteTokens: Type.Optional(Type.Number({ description: 'Prompt tokens written to a cache' })),
    reasoningTokens: Type.Optional(Type.Number({ description: 'Completion tokens spent on reasoning' }))
  },
  { title: 'Usage' }
)
export type Usage = Static<typeof UsageSchema>

/** The fields that only some providers report. */
const OPTIONAL = ['cachedPromptTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** Zero tokens. */
export const ZERO_USAGE: Readonly<Usage> = Object.freeze({
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0
})

/** Adds up two usages; what neither has is left out. The second may be unknown. */
export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (b === undefined) return a
  const sum: Usage = {
    promptTokens: a.promptTokens + b.promptTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    totalTokens: a.totalTokens + b.totalTokens
  }
  for (const field of OPTIONAL)
    if (a[field] !== undefined || b[field] !== undefined) sum[field] = (a[field] ?? 0) + (b[field] ?? 0)
  return sum
}

/** Returns a copy without other fields. */
export function copyUsage(usage: Usage): Usage {
  const { promptTokens, completionTokens, totalTokens } = usage
  const copy: Usage = { promptTokens, completionTokens, totalTokens }
  for (const field of OPTIONAL) if (usage[field] !== undefined) copy[field] = usage[field]
  return copy
}
