import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'

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
  /** What was said beside these calls. */
  said: string
}

/** Reads a prompt. */
export function readPrompt(prompt: LanguageModelV4Prompt): Conversation {
  const turns: Turn[] = []
  const open = new Map<string, Outcome>()
  let files = 0
  for (const { role, content } of prompt) {
    if (role === 'system') continue
    if (role === 'user') {
      const user = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
      turns.push({ user, assistant: '', outcomes: [] })
      files = content.filter(({ type }) => type === 'file').length
      continue
    }
    const turn = turns.at(-1) ?? { user: '', assistant: '', outcomes: [] }
    for (const part of content) {
      if (part.type === 'text') turn.assistant += part.text
      if (part.type === 'tool-result') Object.assign(open.get(part.toolCallId) ?? {}, readOutput(part.output))
      if (part.type !== 'tool-call') continue
      const args = typeof part.input === 'string' ? (JSON.parse(part.input) as unknown) : part.input
      const outcome = { toolName: part.toolName, args: args as Call['args'] }
      turn.outcomes.push(outcome)
      open.set(part.toolCallId, outcome)
    }
  }
  const {
    user: message,
    outcomes,
    assistant: said
  } = turns.pop() ?? { user: '', outcomes: [], assistant: '' }
  return { turns, message, files, outcomes, said }
}

function readOutput(output: LanguageModelV4ToolResultOutput): Pick<Outcome, 'result' | 'error'> {
  if (output.type === 'execution-denied') return { error: output.reason ?? 'it was not permitted' }
  return output.type === 'error-text' ? { error: output.value } : { result: output.value }
}

/** Finds the outcome of a call. */
export function outcomeOf(outcomes: readonly Outcome[], { toolName, args }: Call): Outcome | undefined {
  const wanted = JSON.stringify(args)
  return outcomes.find((each) => each.toolName === toolName && JSON.stringify(each.args) === wanted)
}
