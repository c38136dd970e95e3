import { createHash } from 'node:crypto'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions
} from '@ai-sdk/provider'
import { overflowError, type OverflowProvider } from './overflow-errors.ts'

/** What the model says in a call. */
export interface PrefixCacheAnswer {
  readonly text?: string
  readonly toolCalls?: readonly { readonly toolName: string; readonly args?: unknown }[]
}

/** Options of a model with a prefix cache. */
export interface PrefixCacheOptions {
  /** Tokens that a prompt may have; default: no bound. */
  window?: number
  /** Whose rules it follows; default `anthropic`. */
  provider?: OverflowProvider
  /** Default: `Fine.` */
  answer?: (options: LanguageModelV4CallOptions, call: number) => PrefixCacheAnswer
}

/** What a call has cost. */
export interface PrefixCacheCall {
  readonly promptTokens: number
  readonly cachedTokens: number
  /** How many marks the prompt had. */
  readonly marks: number
}

/** A model with a prefix cache. */
export interface PrefixCacheModel extends LanguageModelV4 {
  readonly calls: readonly PrefixCacheCall[]
  /** Marks that were refused: those beyond the fourth of a prompt. */
  readonly refusedMarks: number
  /** Prompts that were refused as too long. */
  readonly overflows: number
}

const MAX_MARKS = 4
const LOOK_BACK = 20
const MIN_TOKENS = 1_024
const CHARACTERS_PER_TOKEN = 4
// Caches that keep every prefix do so in steps.
const STEP = 128

/** A piece of a prompt, as caches know it. */
interface Block {
  readonly text: string
  readonly isMarked: boolean
}

/**
 * Creates a model that keeps exact prefixes of its prompts, as a provider does. Anthropic and Amazon Bedrock keep those that end with one of
 * four marks, and look back 20 blocks from a mark; the others keep every prefix, OpenAI by its `promptCacheKey`. A token has 4 characters,
 * and no prefix under 1,024 tokens is kept. A prompt longer than the window is refused with the error of the provider.
 */
export function prefixCacheModel(options: PrefixCacheOptions = {}): PrefixCacheModel {
  const { window = Infinity, provider = 'anthropic', answer = () => ({ text: 'Fine.' }) } = options
  const takesMarks = provider === 'anthropic' || provider === 'amazon-bedrock'
  const calls: PrefixCacheCall[] = []
  const kept = new Set<string>()
  let [refusedMarks, overflows] = [0, 0]
  return {
    specificationVersion: 'v4',
    provider: `${provider}.chat`,
    modelId: provider === 'amazon-bedrock' ? 'anthropic.claude-sonnet-4-5' : `${provider}-model`,
    supportedUrls: {},
    calls,
    get refusedMarks() {
      return refusedMarks
    },
    get overflows() {
      return overflows
    },
    doGenerate: () => Promise.reject(new Error('this model only streams')),
    async doStream(call) {
      const blocks = [...blocksOf(call)]
      const prefixes = prefixesOf(blocks, spaceOf(call))
      const promptTokens = prefixes.at(-1)?.tokens ?? 0
      if (promptTokens > window) {
        overflows++
        throw overflowError(provider, promptTokens, window)
      }
      const marks = blocks.flatMap(({ isMarked }, at) => (isMarked ? [at] : []))
      const taken = marks.slice(0, MAX_MARKS)
      refusedMarks += marks.length - taken.length
      const cachedTokens = takesMarks ? readAt(taken, prefixes, kept) : readLongest(prefixes, kept)
      const ends = takesMarks ? taken.map((at) => prefixes[at]!) : prefixes
      for (const { digest, tokens } of ends) if (tokens >= MIN_TOKENS) kept.add(digest)
      calls.push({ promptTokens, cachedTokens, marks: marks.length })
      return {
        stream: toStream(answer(call, calls.length - 1), calls.length, { promptTokens, cachedTokens })
      }
    }
  }
}

// What the cache compares: everything that is sent but marks, in its order.
function* blocksOf({ tools = [], prompt }: LanguageModelV4CallOptions): Generator<Block> {
  for (const tool of tools) yield { text: JSON.stringify(tool), isMarked: false }
  for (const { role, content, providerOptions } of prompt) {
    const isMarked = hasMark(providerOptions)
    const parts: readonly unknown[] = typeof content === 'string' ? [content] : content
    for (const [index, part] of parts.entries())
      yield { text: JSON.stringify([role, part]), isMarked: isMarked && index === parts.length - 1 }
  }
}

function hasMark(options: SharedV4ProviderOptions | undefined): boolean {
  return (
    options?.['anthropic']?.['cacheControl'] !== undefined ||
    options?.['bedrock']?.['cachePoint'] !== undefined
  )
}

function spaceOf({ providerOptions }: LanguageModelV4CallOptions): string {
  return JSON.stringify(providerOptions?.['openai']?.['promptCacheKey'] ?? null)
}

interface Prefix {
  readonly digest: string
  readonly tokens: number
}

function prefixesOf(blocks: readonly Block[], space: string): Prefix[] {
  let [digest, tokens] = [space, 0]
  return blocks.map(({ text }) => {
    digest = createHash('sha1').update(digest).update(text).digest('base64')
    tokens += Math.ceil(text.length / CHARACTERS_PER_TOKEN)
    return { digest, tokens }
  })
}

function readAt(marks: readonly number[], prefixes: readonly Prefix[], kept: ReadonlySet<string>): number {
  let most = 0
  for (const mark of marks)
    for (let at = mark; at >= 0 && at >= mark - LOOK_BACK; at--) {
      const { digest, tokens } = prefixes[at]!
      if (!kept.has(digest)) continue
      most = Math.max(most, tokens)
      break
    }
  return most
}

function readLongest(prefixes: readonly Prefix[], kept: ReadonlySet<string>): number {
  const tokens = prefixes.findLast(({ digest }) => kept.has(digest))?.tokens ?? 0
  return tokens - (tokens % STEP)
}

function toStream(
  { text, toolCalls = [] }: PrefixCacheAnswer,
  call: number,
  { promptTokens, cachedTokens }: Pick<PrefixCacheCall, 'promptTokens' | 'cachedTokens'>
): ReadableStream<LanguageModelV4StreamPart> {
  const parts: LanguageModelV4StreamPart[] = [{ type: 'stream-start', warnings: [] }]
  if (text !== undefined)
    parts.push(
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: text },
      { type: 'text-end', id: 't' }
    )
  for (const [index, { toolName, args = {} }] of toolCalls.entries())
    parts.push({
      type: 'tool-call',
      toolCallId: `call-${call}-${index}`,
      toolName,
      input: JSON.stringify(args)
    })
  const said = JSON.stringify([text, toolCalls]).length
  parts.push({
    type: 'finish',
    finishReason: { unified: toolCalls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: {
        total: promptTokens,
        noCache: promptTokens - cachedTokens,
        cacheRead: cachedTokens,
        cacheWrite: undefined
      },
      outputTokens: { total: Math.ceil(said / CHARACTERS_PER_TOKEN), text: undefined, reasoning: undefined }
    }
  })
  return ReadableStream.from(parts)
}
