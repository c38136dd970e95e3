import { randomUUID } from 'node:crypto'
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput
} from '@ai-sdk/provider'
import { scriptedModel, type ScriptedModel } from '@svc/runtime/testing'

/** A call of a tool. */
export interface Call {
  toolName: string
  args: Record<string, unknown>
}

/** A call that was made; has neither `result` nor `error` until its result is in the prompt. */
export interface Outcome extends Call {
  result?: unknown
  error?: string
}

/** What a model reads in its prompt. */
export interface Conversation {
  /** Earlier messages of the user, oldest first. */
  earlier: string[]
  /** The message to answer. */
  message: string
  /** Calls made for the message so far. */
  outcomes: Outcome[]
  instructions: string
  /** What stands behind the message: the time, what is remembered; empty without any. */
  situation: string
}

/** What a model does next: it calls tools, or answers. */
export type Move = { calls: Call[] } | { answer: string }

/** A question that is understood. */
export interface Question {
  /** The calls that it needs, given those already made. */
  calls(outcomes: readonly Outcome[]): Call[]
  /** Answers it, once its calls are made. */
  answer(outcomes: readonly Outcome[]): string
}

/** Characters of a message that are read. */
const MAX_MESSAGE = 20_000
const CHARACTERS_PER_TOKEN = 4
/** Chunks of an answer. */
const MAX_CHUNKS = 400

/** Makes a model of a function that decides the next move. It keeps nothing between calls, and estimates its tokens. */
export function ruleModel(
  modelId: string,
  decide: (conversation: Conversation, options: LanguageModelV4CallOptions) => Move,
  delay = 0
): ScriptedModel {
  return scriptedModel(
    (options) => {
      const move = decide(readPrompt(options.prompt), options)
      return {
        text: 'answer' in move ? toChunks(move.answer) : [],
        toolCalls: ('calls' in move ? move.calls : []).map((call) => ({
          ...call,
          toolCallId: `call_${randomUUID()}`
        })),
        usage: { promptTokens: tokensOf(options.prompt), completionTokens: tokensOf(move) },
        ...(delay > 0 && { delay })
      }
    },
    { provider: 'offline', modelId, record: false, supportedUrls: {} }
  )
}

/** Reads a prompt. */
export function readPrompt(prompt: LanguageModelV4Prompt): Conversation {
  const earlier: string[] = []
  let instructions = ''
  let message = ''
  let situation = ''
  let outcomes: Outcome[] = []
  const open = new Map<string, Outcome>()
  for (const { role, content } of prompt) {
    if (role === 'system') {
      instructions += content
      continue
    }
    if (role === 'user') {
      if (message !== '') earlier.push(message)
      const texts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
      situation = texts.filter(isSituation).join('\n')
      message = texts
        .filter((text) => !isSituation(text))
        .join('\n')
        .slice(0, MAX_MESSAGE)
      outcomes = []
      continue
    }
    for (const part of content) {
      if (part.type === 'tool-result') Object.assign(open.get(part.toolCallId) ?? {}, readOutput(part.output))
      if (part.type !== 'tool-call') continue
      const args = (typeof part.input === 'string' ? JSON.parse(part.input) : part.input) as Call['args']
      const outcome = { toolName: part.toolName, args }
      outcomes.push(outcome)
      open.set(part.toolCallId, outcome)
    }
  }
  return { earlier, message, outcomes, instructions, situation }
}

function isSituation(text: string): boolean {
  return text.startsWith('<situation>')
}

/** Finds the outcome of a call. */
export function outcomeOf(outcomes: readonly Outcome[], { toolName, args }: Call): Outcome | undefined {
  const wanted = JSON.stringify(args)
  return outcomes.find((each) => each.toolName === toolName && JSON.stringify(each.args) === wanted)
}

/** Makes one call, then answers with what came of it. */
export function callThenAnswer(
  outcomes: readonly Outcome[],
  call: Call,
  answer: (outcome: Outcome) => string
): Move {
  const outcome = outcomeOf(outcomes, call)
  return outcome === undefined ? { calls: [call] } : { answer: answer(outcome) }
}

function readOutput(output: LanguageModelV4ToolResultOutput): Pick<Outcome, 'result' | 'error'> {
  if (output.type === 'execution-denied') return { error: output.reason ?? 'it was not permitted' }
  return output.type === 'error-text' ? { error: output.value } : { result: output.value }
}

// File data is not read, so it costs nothing.
function tokensOf(value: unknown): number {
  const text = JSON.stringify(value, (key, each: unknown) => (key === 'data' ? undefined : each))
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}

// One word each, or several if the text is long.
function toChunks(text: string): string[] {
  const words = text.match(/\s*\S+|\s+$/g) ?? []
  const size = Math.max(1, Math.ceil(words.length / MAX_CHUNKS))
  return words.flatMap((_, at) => (at % size === 0 ? [words.slice(at, at + size).join('')] : []))
}
