import { randomUUID } from 'node:crypto'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  SharedV4Warning
} from '@ai-sdk/provider'
import { composeAnswer } from './compose-answer.ts'
import type { Conversation } from './conversation.ts'
import { estimateUsage } from './estimate-usage.ts'
import { answerNoteRequest, readNoteRequest } from './notes/decide-note.ts'
import { outcomeOf } from './conversation.ts'
import { planCalls, type PlannedCall } from './plan.ts'
import { pickMember } from './route/pick-member.ts'
import { readPrompt } from './read-prompt.ts'
import { streamWords } from './stream-words.ts'
import { understand } from './understand.ts'

/** How the offline model speaks. */
export interface OfflineModelOptions {
  /** Milliseconds between two words; default 4. */
  delay?: number
}

interface Decision {
  text: string
  calls: LanguageModelV4ToolCall[]
  finishReason: LanguageModelV4FinishReason
  warnings: SharedV4Warning[]
}

const CHARACTERS_A_TOKEN = 4

/**
 * A model without a network and without weights: rules that read the question, call the tools, and write the answer from
 * what the tools gave. Usage is an estimate. It keeps no state: all that it knows is in the prompt.
 */
export function createOfflineModel({ delay = 4 }: OfflineModelOptions = {}): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'offline',
    modelId: 'offline',
    supportedUrls: {},
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted()
      const { text, calls, finishReason, warnings } = decide(options)
      return {
        content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls],
        finishReason,
        usage: estimateUsage(options.prompt, text, calls),
        warnings
      }
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted()
      return { stream: ReadableStream.from(speak(decide(options), options, delay)) }
    }
  }
}

// Calls as long as there are some to make; then the answer.
function decide(options: LanguageModelV4CallOptions): Decision {
  const conversation = readPrompt(options.prompt)
  const tools = options.toolChoice?.type === 'none' ? [] : (options.tools ?? [])
  const names = new Set(tools.flatMap((tool) => (tool.type === 'function' ? [tool.name] : [])))
  const { planned, compose } = decideOn(conversation, tools, names)
  const calls = planned.map(toCall)
  const warnings = warningsFor(options)
  if (calls.length > 0) {
    return { text: '', calls, warnings, finishReason: { unified: 'tool-calls', raw: undefined } }
  }
  const answer = compose()
  const most = (options.maxOutputTokens ?? Infinity) * CHARACTERS_A_TOKEN
  return {
    text: answer.slice(0, most),
    calls,
    warnings,
    finishReason: { unified: answer.length > most ? 'length' : 'stop', raw: undefined }
  }
}

/** What to call now, and how to answer when there is nothing to call. */
interface Move {
  planned: PlannedCall[]
  compose(): string
}

function decideOn(
  conversation: Conversation,
  tools: LanguageModelV4CallOptions['tools'],
  names: ReadonlySet<string>
): Move {
  const picked = pickMember(conversation.message, tools)
  if (picked !== undefined) return { planned: [picked], compose: () => '' }
  return names.has('add_note') ? decideOnNotes(conversation) : decideOnQuestions(conversation, names)
}

function decideOnQuestions(conversation: Conversation, tools: ReadonlySet<string>): Move {
  const understanding = understand(conversation)
  return {
    planned: planCalls(understanding.pieces, conversation.outcomes, tools),
    compose: () => composeAnswer(conversation, understanding)
  }
}

function decideOnNotes({ message, outcomes }: Conversation): Move {
  const call = readNoteRequest(message)
  const isDone = call === undefined || outcomeOf(outcomes, call) !== undefined
  return { planned: isDone ? [] : [call], compose: () => answerNoteRequest(call, outcomes) }
}

async function* speak(
  { text, calls, finishReason, warnings }: Decision,
  { prompt, abortSignal }: LanguageModelV4CallOptions,
  delay: number
): AsyncGenerator<LanguageModelV4StreamPart, void> {
  yield { type: 'stream-start', warnings }
  if (text !== '') {
    const id = '0'
    yield { type: 'text-start', id }
    for await (const delta of streamWords(text, { delay, signal: abortSignal }))
      yield { type: 'text-delta', id, delta }
    yield { type: 'text-end', id }
  }
  yield* calls
  yield { type: 'finish', finishReason, usage: estimateUsage(prompt, text, calls) }
}

function toCall({ toolName, args }: { toolName: string; args: object }): LanguageModelV4ToolCall {
  return { type: 'tool-call', toolCallId: `call_${randomUUID()}`, toolName, input: JSON.stringify(args) }
}

function warningsFor(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const { stopSequences, responseFormat, toolChoice } = options
  const unsupported = [
    ...(stopSequences?.length ? ['stopSequences'] : []),
    ...(responseFormat?.type === 'json' ? ['responseFormat'] : []),
    ...(toolChoice?.type === 'required' || (toolChoice?.type === 'tool' && toolChoice.toolName !== 'route')
      ? ['toolChoice']
      : [])
  ]
  return unsupported.map((feature) => ({ type: 'unsupported', feature }))
}
