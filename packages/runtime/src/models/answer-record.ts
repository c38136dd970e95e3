import type { LanguageModelV4FinishReason, LanguageModelV4ToolCallPart } from '@ai-sdk/provider'
import type { PartOf, Usage } from '@svc/contract'
import { ModelAnswer, type AnswerScope, type ModelToolCall } from './model-answer.ts'
import type { ProviderOutcome } from './provider-result.ts'
import { restoreUrl, type AnswerContent } from './prompt-content.ts'

/** A complete answer as JSON: everything that the provider expects back, and what the session and the result need. */
export interface AnswerRecord {
  readonly content: AnswerContent
  readonly finishReason: LanguageModelV4FinishReason | null
  readonly usage?: Usage
  readonly modelId?: string
  readonly files?: readonly PartOf<'file'>[]
  /** Without their prompt parts, which are in the content. */
  readonly toolCalls?: readonly Omit<ModelToolCall, 'promptPart'>[]
  readonly providerCalls?: readonly ProviderOutcome['call'][]
  readonly providerOutcomes?: readonly ProviderOutcome[]
}

/** Converts a complete answer to a record. Its values are shared with the answer: encode it before the answer changes. */
export function toRecord(answer: ModelAnswer): AnswerRecord {
  const { content, ended = null, usage, modelId, files, toolCalls, providerCalls, providerOutcomes } = answer
  return {
    content,
    finishReason: ended,
    ...(usage !== undefined && { usage }),
    ...(modelId !== undefined && { modelId }),
    ...(files.length > 0 && { files }),
    ...(toolCalls.length > 0 && { toolCalls: toolCalls.map(({ promptPart: _, ...call }) => call) }),
    ...(providerCalls.length > 0 && { providerCalls }),
    ...(providerOutcomes.length > 0 && { providerOutcomes })
  }
}

/** Rebuilds an answer from the JSON of its record, and adds its calls to those of the run. */
export function fromRecord(record: AnswerRecord, scope?: AnswerScope): ModelAnswer {
  const answer = new ModelAnswer(scope)
  answer.begun = true
  answer.ended = record.finishReason ?? undefined
  answer.usage = record.usage
  answer.modelId = record.modelId
  answer.files.push(...(record.files ?? []))
  const calls = new Map<string, LanguageModelV4ToolCallPart>()
  for (const part of record.content) {
    const restored = restoreUrl(part)
    if (restored.type === 'tool-call' && restored.providerExecuted !== true)
      calls.set(restored.toolCallId, restored)
    answer.content.push(restored)
  }
  for (const call of record.toolCalls ?? []) {
    const promptPart = calls.get(call.toolCallId)
    if (promptPart !== undefined) answer.toolCalls.push({ ...call, promptPart })
  }
  answer.providerOutcomes.push(...(record.providerOutcomes ?? []))
  for (const call of record.providerCalls ?? []) answer.addProviderCall(call)
  for (const { toolCallId } of answer.toolCalls) scope?.callIds.add(toolCallId)
  return answer
}
