import type { PartOf } from '@svc/contract'
import type { TokenUsage } from '../wire/events.ts'

type Counts = Required<Pick<TokenUsage, 'inputTokens' | 'outputTokens' | 'totalTokens'>> & TokenUsage

/** Adds up the tokens of model steps, by provider and model. Counts that no step reports are absent. */
export class TokenCount {
  #counts = new Map<string, Counts>()

  add({ usage, model }: PartOf<'step'>): void {
    if (usage === undefined) return
    const key = `${model?.provider}\u0000${model?.modelId}`
    const name = model && { provider: model.provider, model: model.modelId }
    const count = this.#counts.get(key) ?? { ...name, inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    this.#counts.set(key, count)
    count.inputTokens += usage.promptTokens
    count.outputTokens += usage.completionTokens
    count.totalTokens += usage.totalTokens
    addTo(count, 'reasoningTokens', usage.reasoningTokens)
    addTo(count, 'cachedInputTokens', usage.cachedPromptTokens)
    addTo(count, 'cacheWriteInputTokens', usage.cacheWriteTokens)
  }

  /** The tokens since the last call; undefined if there are none. Numbers that are not whole, which clients refuse, are left out. */
  take(): TokenUsage[] | undefined {
    if (this.#counts.size === 0) return undefined
    const counts = Array.from(this.#counts.values(), withoutUnfit)
    this.#counts = new Map()
    return counts
  }
}

function withoutUnfit(count: TokenUsage): TokenUsage {
  const values = Object.entries(count)
  return values.every(([, value]) => isFit(value))
    ? count
    : (Object.fromEntries(values.filter(([, value]) => isFit(value))) as TokenUsage)
}

function addTo(
  count: Counts,
  field: 'reasoningTokens' | 'cachedInputTokens' | 'cacheWriteInputTokens',
  tokens: number | undefined
): void {
  if (tokens !== undefined) count[field] = (count[field] ?? 0) + tokens
}

function isFit(value: unknown): boolean {
  return typeof value === 'string' || (Number.isSafeInteger(value) && (value as number) >= 0)
}
