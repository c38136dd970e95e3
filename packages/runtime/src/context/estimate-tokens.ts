import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'

/** What an estimate takes into account. */
export interface EstimateOptions {
  /** The tools of the call. */
  readonly tools?: LanguageModelV4CallOptions['tools'] | undefined
  /** Counts the tokens of a text; default: UTF-8 bytes / 3, rounded up. */
  readonly countTokens?: ((text: string) => number) | undefined
}

type CountTokens = (text: string) => number
type Content = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]

const BYTES_PER_TOKEN = 3
const PICTURE = 1_600
const BYTES_PER_FILE_TOKEN = 30

/**
 * Estimates the tokens of a prompt, rather more than fewer: a text by `countTokens`, a picture or a file by its URL as 1,600, another file
 * as its bytes / 30.
 */
export function estimateTokens(
  prompt: LanguageModelV4Prompt,
  { tools, countTokens }: EstimateOptions = {}
): number {
  let tokens = tokensOfTools(tools, countTokens)
  for (const message of prompt) tokens += tokensOfMessage(message, countTokens)
  return tokens
}

// Messages and lists of tools are the same objects in every step, and the default way to count never changes.
const known = new WeakMap<object, number>()

function remembered<T extends object>(
  value: T,
  countTokens: CountTokens | undefined,
  count: (value: T, countTokens: CountTokens) => number
): number {
  if (countTokens !== undefined) return count(value, safely(countTokens))
  let tokens = known.get(value)
  if (tokens === undefined) known.set(value, (tokens = count(value, tokensOfText)))
  return tokens
}

/** The estimated tokens of a message. */
export function tokensOfMessage(message: LanguageModelV4Message, countTokens?: CountTokens): number {
  return remembered(message, countTokens, ({ role, content }, count) =>
    role === 'system'
      ? count(content)
      : (content as readonly Content[]).reduce((sum, part) => sum + tokensOfPart(part, count), 0)
  )
}

/** The estimated tokens of the definitions of tools. */
export function tokensOfTools(tools: EstimateOptions['tools'], countTokens?: CountTokens): number {
  if (tools === undefined) return 0
  return remembered(tools, countTokens, (list, count) => count(JSON.stringify(list)))
}

function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

// A function of the app that fails must not fail the run.
function safely(countTokens: CountTokens): CountTokens {
  return (text) => {
    try {
      const tokens: unknown = countTokens(text)
      if (typeof tokens === 'number' && tokens >= 0 && tokens < Infinity) return tokens
    } catch {
      // As if there were none.
    }
    return tokensOfText(text)
  }
}

function tokensOfPart(part: Content, count: CountTokens): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return count(part.text)
    case 'file':
    case 'reasoning-file':
      return tokensOfFile(part.mediaType, part.data)
    case 'tool-call':
      return count(part.toolName) + count(toJson(part.input))
    case 'tool-result':
      return count(part.toolName) + tokensOfOutput(part.output, count)
    default:
      return count(toJson(part))
  }
}

type Output = Extract<Content, { type: 'tool-result' }>['output']

function tokensOfOutput(output: Output, count: CountTokens): number {
  if (output.type === 'execution-denied') return count(output.reason ?? '')
  if (output.type === 'text' || output.type === 'error-text') return count(output.value)
  if (output.type !== 'content') return count(toJson(output.value))
  return output.value.reduce((sum, part) => {
    if (part.type === 'text') return sum + count(part.text)
    return sum + (part.type === 'file' ? tokensOfFile(part.mediaType, part.data) : count(toJson(part)))
  }, 0)
}

function tokensOfFile(
  mediaType: string,
  data: { readonly type: string; readonly data?: string | Uint8Array }
): number {
  if (mediaType.startsWith('image/') || data.data === undefined) return PICTURE
  const { length } = data.data
  const bytes = typeof data.data === 'string' ? (length * 3) / 4 : length
  return Math.ceil(bytes / BYTES_PER_FILE_TOKEN)
}

function toJson(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
