import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput
} from '@ai-sdk/provider'

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

/** A message of the user, and what followed it. */
export interface Turn {
  user: string
  assistant: string
  outcomes: Outcome[]
}

/** A prompt, free of its protocol. */
export interface Conversation {
  /** Earlier turns, oldest first. */
  turns: Turn[]
  /** The message to answer. */
  message: string
  /** Number of images, audio and other files in the message. */
  files: number
  /** Calls made for the message so far. */
  outcomes: Outcome[]
}

/** Reads a prompt. */
export function readPrompt(prompt: LanguageModelV4Prompt): Conversation {
  const turns: Turn[] = []
  let files = 0
  const open = new Map<string, Outcome>()
  for (const message of prompt) {
    if (message.role === 'user') {
      files = message.content.filter((part) => part.type === 'file').length
      const user = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
      turns.push({ user, assistant: '', outcomes: [] })
    } else if (message.role !== 'system' && turns.length > 0) readAnswer(message, turns.at(-1)!, open)
  }
  const { user: message, outcomes } = turns.pop() ?? { user: '', outcomes: [] }
  return { turns, message, files, outcomes }
}

function readAnswer(
  { content }: Extract<LanguageModelV4Message, { role: 'assistant' | 'tool' }>,
  turn: Turn,
  open: Map<string, Outcome>
): void {
  for (const part of content) {
    if (part.type === 'text') turn.assistant += part.text
    else if (part.type === 'tool-result')
      Object.assign(open.get(part.toolCallId) ?? {}, readOutput(part.output))
    else if (part.type === 'tool-call') {
      const args = typeof part.input === 'string' ? (JSON.parse(part.input) as unknown) : part.input
      const outcome = { toolName: part.toolName, args: args as Call['args'] }
      turn.outcomes.push(outcome)
      open.set(part.toolCallId, outcome)
    }
  }
}

function readOutput(output: LanguageModelV4ToolResultOutput): Pick<Outcome, 'result' | 'error'> {
  if (output.type === 'execution-denied') return { error: output.reason ?? 'it was not permitted' }
  if (output.type === 'error-text') return { error: output.value }
  if (output.type === 'error-json') return { error: JSON.stringify(output.value) }
  return { result: output.value }
}

/** Finds the outcome of a call. */
export function outcomeOf(outcomes: readonly Outcome[], { toolName, args }: Call): Outcome | undefined {
  const wanted = JSON.stringify(args)
  return outcomes.find((each) => each.toolName === toolName && JSON.stringify(each.args) === wanted)
}
