import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart
} from '@ai-sdk/provider'
import type { Conversation, ToolOutcome, Turn } from './conversation.ts'

type ContentOf<R> = Extract<LanguageModelV4Message, { role: R }>['content']

/** Reads a prompt: its turns, the message to answer, and what the tools gave for it. */
export function readPrompt(prompt: LanguageModelV4Prompt): Conversation {
  const turns: Turn[] = []
  let files = 0
  const waiting = new Map<string, ToolOutcome>()
  for (const message of prompt) {
    if (message.role === 'user') {
      files = message.content.filter((part) => part.type === 'file').length
      const user = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
      turns.push({ user, assistant: '', outcomes: [] })
    }
    const turn = turns.at(-1)
    if (turn === undefined) continue
    if (message.role === 'assistant') readAnswer(message.content, turn, waiting)
    if (message.role === 'tool') {
      for (const part of message.content) if (part.type === 'tool-result') settle(part, waiting)
    }
  }
  const current = turns.pop()
  return { turns, message: current?.user ?? '', files, outcomes: current?.outcomes ?? [] }
}

function readAnswer(content: ContentOf<'assistant'>, turn: Turn, waiting: Map<string, ToolOutcome>): void {
  for (const part of content) {
    if (part.type === 'text') turn.assistant += part.text
    else if (part.type === 'tool-result') settle(part, waiting)
    else if (part.type === 'tool-call') {
      const args = typeof part.input === 'string' ? parseJson(part.input) : part.input
      const outcome: ToolOutcome = { toolName: part.toolName, args }
      turn.outcomes.push(outcome)
      waiting.set(part.toolCallId, outcome)
    }
  }
}

function settle(part: LanguageModelV4ToolResultPart, waiting: Map<string, ToolOutcome>): void {
  const outcome = waiting.get(part.toolCallId)
  if (outcome !== undefined) Object.assign(outcome, readOutput(part.output))
}

function readOutput(output: LanguageModelV4ToolResultOutput): Pick<ToolOutcome, 'result' | 'error'> {
  switch (output.type) {
    case 'json':
      return { result: output.value }
    case 'text':
      return { result: parseJson(output.value) }
    case 'content':
      return {
        result: parseJson(output.value.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(''))
      }
    case 'execution-denied':
      return { error: output.reason ?? 'it was not permitted' }
    case 'error-text':
      return { error: messageOf(parseJson(output.value)) }
    default:
      return { error: messageOf(output.value) }
  }
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const message = (error as { message?: unknown } | null)?.message
  return typeof message === 'string' ? message : JSON.stringify(error)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
