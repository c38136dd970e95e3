import { createHash } from 'node:crypto'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions
} from '@ai-sdk/provider'
import { Type, type TSchema } from '@sinclair/typebox'
import type { RunContext, RunnableKind } from '@svc/contract'
import { nameOf } from '../checks/option-errors.ts'
import { tokensOfMessage, tokensOfTools } from '../context/estimate-tokens.ts'
import { hasSystem, placesIn } from '../context/prompt-places.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { nameOfProvider } from './model.ts'

/** How prompts are marked for the caches of providers. */
export interface CacheOptions {
  /** How long Anthropic keeps a prompt; default `5m`. */
  ttl?: '5m' | '1h'
  /** What OpenAI tells prompts that belong together by; default: the session. */
  key?: (context: RunContext) => string
}

/** `auto` marks prompts as the provider of the model takes it; false: never. */
export type Cache = 'auto' | false | CacheOptions

export const CacheSchema = Type.Union([
  Type.Literal('auto'),
  Type.Literal(false),
  Type.Object(
    {
      ttl: Type.Optional(Type.Union([Type.Literal('5m'), Type.Literal('1h')])),
      key: Type.Optional(Type.Function([], Type.Unknown()))
    } satisfies Record<keyof CacheOptions, TSchema>,
    { additionalProperties: false }
  )
])

// Providers keep no shorter prompt.
const MIN_TOKENS = 1_024
const KEY_LENGTH = 32
// Amazon Bedrock refuses cache points for all other models.
const BEDROCK_CACHES = /claude-(?:3-5-haiku|3-5-sonnet-20241022|3-7|(?:opus|sonnet|haiku)-\d)|amazon\.nova/

/** The run whose prompts are marked. */
interface MarkedRun {
  readonly kind: RunnableKind
  readonly name: string
  readonly context: RunContext
}

/** A turn that has just begun. */
interface BegunTurn {
  /** Its last message of the user is the one to be answered. */
  readonly prompt: LanguageModelV4Prompt
  /** True if its history begins later than that of the turn before. */
  readonly isHistoryCut: boolean
}

/** Marks the prompts of a run, up to which its provider keeps them. */
export class CacheMarks {
  readonly #options: CacheOptions
  readonly #run: MarkedRun
  #first: LanguageModelV4Prompt
  #isHistoryCut: boolean
  #key: string | undefined

  constructor(cache: Exclude<Cache, false>, run: MarkedRun, turn: BegunTurn) {
    this.#options = cache === 'auto' ? {} : cache
    this.#run = run
    this.#first = turn.prompt
    this.#isHistoryCut = turn.isHistoryCut
  }

  /** The prompts of the run begin with other messages from now on. */
  restart(first: LanguageModelV4Prompt): void {
    this.#first = first
    this.#isHistoryCut = false
  }

  /**
   * Marks the options of one call, which are its own; the messages are those of others.
   * @param isOwn true if its messages are not those of the turn
   * @throws RUN_ERR_BAD_AGENT for a key that is no text, the error of the function `key`
   */
  mark(options: LanguageModelV4CallOptions, model: LanguageModelV4, isOwn: boolean): void {
    const vendor = vendorOf(model)
    if (vendor === 'openai') this.#setKey(options)
    else if (vendor !== undefined) this.#markPrompt(options, vendor, isOwn)
  }

  #setKey(options: LanguageModelV4CallOptions): void {
    const { providerOptions } = options
    const own = providerOptions?.['openai'] ?? {}
    if ('promptCacheKey' in own || 'promptCacheKey' in (providerOptions?.['azure'] ?? {})) return
    this.#key ??= this.#toKey()
    options.providerOptions = { ...providerOptions, openai: { ...own, promptCacheKey: this.#key } }
  }

  #toKey(): string {
    const { kind, name, context } = this.#run
    const { registry, sessionOwner, sessionId } = context
    const text: unknown =
      this.#options.key === undefined
        ? JSON.stringify([registry, kind, name, sessionOwner, sessionId])
        : this.#options.key(context)
    if (typeof text !== 'string')
      throw new RUN_ERR_BAD_AGENT(`${nameOf(kind, this.#run)}: cache: the function \`key\` returned no text`)
    return createHash('sha256').update(text).digest('base64url').slice(0, KEY_LENGTH)
  }

  #markPrompt(options: LanguageModelV4CallOptions, vendor: 'anthropic' | 'bedrock', isOwn: boolean): void {
    const { prompt, tools, providerOptions } = options
    if (isMarked(providerOptions) || (isOwn && prompt.some(hasMarks))) return
    const from = firstWorthMarking(prompt, tokensOfTools(tools))
    const places = new Set([hasSystem(prompt) ? 0 : -1])
    // No later turn begins with a history that was cut: to keep it would cost, and help no one.
    if (!isOwn && !this.#isHistoryCut) {
      // Where the history ends, and where it ended a turn ago: Anthropic looks back 20 blocks only, which a turn may exceed.
      const { lastTurn, asked } = placesIn(prompt, this.#first)
      places.add(lastTurn - 1).add(asked - 1)
    }
    // A step without tools is the last one.
    if (tools !== undefined) places.add(prompt.length - 1)
    const marked = [...prompt]
    const mark = this.#markOf(vendor)
    for (const place of places) {
      const message = prompt[place]
      if (message !== undefined && place >= from) marked[place] = withMark(message, mark)
    }
    options.prompt = marked
  }

  #markOf(vendor: 'anthropic' | 'bedrock'): SharedV4ProviderOptions {
    if (vendor === 'bedrock') return { bedrock: { cachePoint: { type: 'default' } } }
    const { ttl } = this.#options
    return { anthropic: { cacheControl: { type: 'ephemeral', ...(ttl !== undefined && { ttl }) } } }
  }
}

function vendorOf({ provider, modelId }: LanguageModelV4): 'anthropic' | 'bedrock' | 'openai' | undefined {
  const name = nameOfProvider(provider)
  if (name === 'openai' || name === 'azure') return 'openai'
  if (name === 'anthropic') return 'anthropic'
  // Claude in the clouds of others, in Anthropic's own format.
  if ((name === 'vertex' || name === 'bedrock') && provider.includes('anthropic')) return 'anthropic'
  return name === 'amazon-bedrock' && BEDROCK_CACHES.test(modelId) ? 'bedrock' : undefined
}

// The first message with which a prompt is long enough to be kept.
function firstWorthMarking(prompt: LanguageModelV4Prompt, ofTools: number): number {
  let tokens = ofTools
  const place = prompt.findIndex((message) => (tokens += tokensOfMessage(message)) >= MIN_TOKENS)
  return place < 0 ? Infinity : place
}

function withMark(message: LanguageModelV4Message, mark: SharedV4ProviderOptions): LanguageModelV4Message {
  const providerOptions = { ...message.providerOptions }
  for (const [vendor, options] of Object.entries(mark))
    providerOptions[vendor] = { ...providerOptions[vendor], ...options }
  return { ...message, providerOptions }
}

function isMarked(options: SharedV4ProviderOptions | undefined): boolean {
  if (options === undefined) return false
  return MARKS.some(([vendor, mark]) => options[vendor]?.[mark] !== undefined)
}

const MARKS = [
  ['anthropic', 'cacheControl'],
  ['anthropic', 'cache_control'],
  ['bedrock', 'cachePoint'],
  ['amazonBedrock', 'cachePoint']
] as const

function hasMarks({ content, providerOptions }: LanguageModelV4Message): boolean {
  if (isMarked(providerOptions)) return true
  return typeof content !== 'string' && content.some((part) => isMarked(part.providerOptions))
}
