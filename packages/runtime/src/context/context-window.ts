import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'
import { setNewest, type Usage } from '@svc/contract'
import type { CompactPlan, HistoryPlan } from '../sessions/history.ts'
import { estimateTokens, tokensOfMessage, tokensOfTools } from './estimate-tokens.ts'

/** What of a call is counted. */
export interface CountedCall extends Pick<LanguageModelV4CallOptions, 'prompt' | 'maxOutputTokens'> {
  readonly tools?: LanguageModelV4CallOptions['tools'] | undefined
}

/** The history in the prompt of a turn. */
export interface PastMessages {
  readonly past: LanguageModelV4Prompt
  /** The number of messages of the session that it stands for. */
  readonly pastMessages: number
}

const WINDOW = 128_000
const MAX_OUTPUT = 8_192
/** Of models that this process has called last. */
const MAX_MODELS = 64
// What a provider reports counts within these bounds of the estimate.
const [LEAST, MOST] = [0.25, 4]
/** How much of a threshold a compacted prompt has at most: the next one is not to be due soon. */
const SHARE = 0.5
/** The weight of the newest report in the mean. */
const WEIGHT = 0.2

// What overflows told, and the mean of reported to estimated tokens.
const windows = new Map<string, number>()
const ratios = new Map<string, number>()

function nameOf({ provider, modelId }: LanguageModelV4): string {
  return `${provider}/${modelId}`
}

/** Remembers the window of a model that has refused a prompt, for all runs of this process. */
export function learnWindow(model: LanguageModelV4, limit: number): void {
  setNewest(windows, nameOf(model), limit, MAX_MODELS)
}

/** Counts the prompts of a run against the window of its model. */
export class ContextWindow {
  readonly #history: HistoryPlan
  readonly #compactAt: number
  // The last prompt: what its provider reported with its answer, and how many messages were new after both.
  #reported: { readonly tokens: number; readonly messages: number } | undefined

  /** @param compactAt tokens; lowers the threshold */
  constructor(history: HistoryPlan, compactAt = Infinity) {
    this.#history = history
    this.#compactAt = compactAt
  }

  /** Tokens that a prompt and its answer may take together. */
  sizeFor(model: LanguageModelV4): number {
    return this.#history.window ?? windows.get(nameOf(model)) ?? WINDOW
  }

  /** True if a prompt is to be compacted before it is sent. */
  isExceeded(call: CountedCall, model: LanguageModelV4, turn: PastMessages): boolean {
    const { compact, maxMessages, maxTokens, countTokens } = this.#history
    if (compact === undefined) return false
    if (turn.pastMessages > maxMessages) return true
    if (maxTokens !== Infinity && estimateTokens(turn.past, { countTokens }) > maxTokens) return true
    const threshold = this.#threshold(compact, call, model)
    if (countTokens === undefined && isFarBelow(call, threshold / MOST)) return false
    return this.count(call, model) > threshold
  }

  #threshold(
    { at }: CompactPlan,
    { maxOutputTokens = MAX_OUTPUT }: CountedCall,
    model: LanguageModelV4
  ): number {
    const window = this.sizeFor(model)
    return Math.min(at * window - Math.min(maxOutputTokens, window / 4), this.#compactAt)
  }

  /** The tokens that a compacted prompt is to have at most. @param refused the tokens of a prompt that the model has refused */
  targetFor(call: CountedCall, model: LanguageModelV4, { past }: PastMessages, refused: number): number {
    const { compact, maxTokens, countTokens } = this.#history
    const half = Math.min(this.sizeFor(model), refused) / 2
    const target =
      compact === undefined ? half : Math.min(half, this.#threshold(compact, call, model) * SHARE)
    if (maxTokens === Infinity) return target
    const others =
      estimateTokens(call.prompt, { tools: call.tools, countTokens }) - estimateTokens(past, { countTokens })
    return Math.min(target, others + maxTokens / 2)
  }

  /** The tokens of a prompt: as its provider reported the last one of the run, and an estimate of what is new. */
  count(call: CountedCall, model: LanguageModelV4): number {
    const { countTokens } = this.#history
    const estimate = estimateTokens(call.prompt, { tools: call.tools, countTokens })
    const reported = this.#reported
    if (reported === undefined) return estimate * (ratios.get(nameOf(model)) ?? 1)
    const fresh = estimateTokens(call.prompt.slice(reported.messages), { countTokens })
    return Math.max(reported.tokens + fresh, estimate * LEAST)
  }

  /** Takes what the provider reported of a prompt and its answer. */
  took({ prompt, tools }: CountedCall, model: LanguageModelV4, usage: Usage | undefined): void {
    if (this.#history.compact === undefined || usage === undefined || usage.promptTokens <= 0) return
    // The answer is the next message.
    this.#reported = { tokens: usage.promptTokens + usage.completionTokens, messages: prompt.length + 1 }
    if (isFarBelow({ prompt, tools }, MIN_LEARNED)) return
    const estimate = estimateTokens(prompt, { tools, countTokens: this.#history.countTokens })
    const ratio = Math.min(MOST, Math.max(LEAST, usage.promptTokens / estimate))
    const name = nameOf(model)
    const mean = (ratios.get(name) ?? ratio) * (1 - WEIGHT) + ratio * WEIGHT
    setNewest(ratios, name, mean, MAX_MODELS)
  }

  /** The prompt is another one than the provider has reported. */
  restart(): void {
    this.#reported = undefined
  }
}

// Short prompts say little about how a model counts.
const MIN_LEARNED = 20_000

/** True without counting bytes: a text has at most one estimated token per code unit. */
function isFarBelow({ prompt, tools }: CountedCall, tokens: number): boolean {
  let left = tokens - tokensOfTools(tools)
  for (const message of prompt) {
    left -= lengthOf(message)
    if (left < 0) return false
  }
  return true
}

function lengthOf(message: LanguageModelV4Message): number {
  if (message.role === 'system') return message.content.length
  let length = 0
  for (const part of message.content) {
    if (part.type !== 'text' && part.type !== 'reasoning') return tokensOfMessage(message)
    length += part.text.length
  }
  return length
}
