import type { LanguageModelV4Prompt, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider'

const CHARACTERS_A_TOKEN = 4

/** About how many tokens a text has: four characters each. */
function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_A_TOKEN)
}

/** The usage of a call, by estimate: this model has no tokens of its own. */
export function estimateUsage(
  prompt: LanguageModelV4Prompt,
  text: string,
  calls: readonly LanguageModelV4ToolCall[]
): LanguageModelV4Usage {
  const said = text + calls.map((call) => call.toolName + call.input).join('')
  const input = estimateTokens(prompt.map((message) => textOf(message.content)).join('\n'))
  const output = estimateTokens(said)
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 }
  }
}

// Binary content is not read, so it costs nothing.
function textOf(content: LanguageModelV4Prompt[number]['content']): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'file' ? '' : 'text' in part ? part.text : JSON.stringify(part)))
    .join('')
}
