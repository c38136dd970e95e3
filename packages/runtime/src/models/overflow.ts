/** That a prompt was refused as too long. */
export interface Overflow {
  /** The tokens that the model takes, where the provider names them. */
  readonly limit?: number
}

const CODES = new Set(['context_length_exceeded', 'exceed_context_size_error', 'request_too_large'])

/** What providers write instead of a code; the first group is the limit. Each takes time in proportion to the text. */
const TEXTS: readonly RegExp[] = [
  // OpenAI's Chat Completions, and servers that speak it: vLLM, SGLang, LM Studio, Groq, Llama on Amazon Bedrock.
  /maximum context length is (\d+) tokens/i,
  // OpenAI's Responses.
  /input exceeds the context window/i,
  // Anthropic, also on Vertex.
  /prompt is too long(?:: \d+ tokens > (\d+) maximum)?/i,
  // Anthropic and Amazon Bedrock, where the prompt and the answer together are too long.
  /input length and `?max_tokens`? exceed context limit: \d+ \+ \d+ > (\d+)/i,
  // Google.
  /input token count(?: \(\d+\))? exceeds the maximum number of tokens allowed(?: \((\d+)\))?/i,
  // Amazon Bedrock.
  /input is too long for requested model/i,
  /too many input tokens\. max input tokens: (\d+)/i,
  // Mistral.
  /too large for model with (\d+) maximum context length/i,
  // vLLM, where it reads the prompt before the chat server does.
  /longer than the maximum model length of (\d+)/i,
  // llama.cpp.
  /exceeds the available context size(?: \((\d+) tokens\))?/i,
  // xAI.
  /maximum prompt length is (\d+)/i,
  // A body that the package of a provider does not read in full, such as Groq's.
  /"(?:code|type)"\s*:\s*"(?:context_length_exceeded|exceed_context_size_error|request_too_large)"/
]
const MAX_CHARACTERS = 4_096

/** What the error of a call says. */
interface Said {
  readonly statusCode: number | undefined
  /** Codes and types. */
  readonly codes: readonly string[]
  readonly texts: readonly unknown[]
}

/** Finds out whether a prompt was refused as too long: by a code, or by the text of a 400 or 413. */
export function overflowOf({ statusCode, codes, texts }: Said): Overflow | undefined {
  // Limits of a rate have the same codes at some providers.
  if (statusCode === 429) return undefined
  const isCode = codes.some((code) => CODES.has(code))
  if (!isCode && statusCode !== 400 && statusCode !== 413) return undefined
  for (const text of texts) {
    const found = typeof text === 'string' ? readText(text.slice(0, MAX_CHARACTERS)) : undefined
    if (found !== undefined) return found
  }
  return isCode ? {} : undefined
}

function readText(text: string): Overflow | undefined {
  for (const pattern of TEXTS) {
    const match = pattern.exec(text)
    if (match === null) continue
    const limit = Number(match[1])
    return limit > 0 && Number.isSafeInteger(limit) ? { limit } : {}
  }
  return undefined
}
