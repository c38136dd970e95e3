import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ScriptedTurn } from './script.ts'

const cache = new WeakMap<ScriptedTurn, readonly LanguageModelV4StreamPart[]>()

/** Converts a turn to the parts of a model's stream; cached per turn. */
export function toStreamParts(turn: ScriptedTurn): readonly LanguageModelV4StreamPart[] {
  let parts = cache.get(turn)
  if (parts === undefined) cache.set(turn, (parts = turn.parts ?? [...generate(turn)]))
  return parts
}

function* generate(turn: ScriptedTurn): Generator<LanguageModelV4StreamPart> {
  const reasoning = toChunks(turn.reasoning)
  const text = toChunks(turn.text)
  const { toolCalls = [] } = turn
  yield { type: 'stream-start', warnings: [] }
  if (reasoning.length > 0) {
    yield { type: 'reasoning-start', id: 'r' }
    for (const delta of reasoning) yield { type: 'reasoning-delta', id: 'r', delta }
    yield { type: 'reasoning-end', id: 'r' }
  }
  if (text.length > 0) {
    yield { type: 'text-start', id: 't' }
    for (const delta of text) yield { type: 'text-delta', id: 't', delta }
    yield { type: 'text-end', id: 't' }
  }
  for (const [index, { toolName, args = {}, input, toolCallId }] of toolCalls.entries()) {
    yield {
      type: 'tool-call',
      toolCallId: toolCallId ?? `call-${index + 1}`,
      toolName,
      input: input ?? JSON.stringify(args)
    }
  }
  if (turn.errorPart !== undefined) yield { type: 'error', error: turn.errorPart }
  else if (turn.breaks === undefined && turn.hangs === undefined && turn.finish !== false)
    yield toFinish(turn, text.length)
}

function toFinish(
  { finishReason, toolCalls = [], usage }: ScriptedTurn,
  chunks: number
): LanguageModelV4StreamPart {
  const { promptTokens, completionTokens } = usage ?? { promptTokens: 10, completionTokens: chunks }
  return {
    type: 'finish',
    finishReason: { unified: finishReason ?? (toolCalls.length > 0 ? 'tool-calls' : 'stop'), raw: undefined },
    usage: {
      inputTokens: { total: promptTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: completionTokens, text: undefined, reasoning: undefined }
    }
  }
}

function toChunks(text: string | readonly string[] | undefined): readonly string[] {
  return text === undefined ? [] : typeof text === 'string' ? [text] : text
}
