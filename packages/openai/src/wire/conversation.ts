import type { ContentPart, Runnable, RunInput, SessionMessage } from '@svc/contract'
import { valueOfText } from '@svc/surface'
import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'

type AssistantMessage = Extract<SessionMessage, { role: 'assistant' }>
type UserContent = Extract<SessionMessage, { role: 'user' }>['content']

/** The output of a call of a tool. */
export interface CallOutput {
  readonly callId: string
  readonly output: string
  /** True if the client declines to give one. */
  readonly isDeclined: boolean
}

/** The answer to an approval. */
export interface ApprovalAnswer {
  readonly approvalId: string
  readonly approved: boolean
  readonly reason?: string
}

/** Collects a conversation that a client sends: instructions, what the last message asks, and the messages before it. */
export class Conversation {
  readonly #instructions: string[] = []
  readonly #messages: SessionMessage[] = []
  readonly #names = new Map<string, string>()
  #input: string | ContentPart[] | undefined
  #outputs: CallOutput[] = []
  #approvals: ApprovalAnswer[] = []
  // The last message with calls, while some have no result yet.
  #calling: AssistantMessage | undefined
  readonly #unanswered = new Set<string>()

  /** The instructions among the messages; undefined if there are none. */
  get instructions(): string | undefined {
    const text = this.#instructions.filter((each) => each.trim() !== '').join('\n\n')
    return text === '' ? undefined : text
  }

  /** The last message, if it is the user's. */
  get input(): string | ContentPart[] | undefined {
    return this.#input
  }

  /** The messages before it. */
  get messages(): readonly SessionMessage[] {
    return this.#messages
  }

  /** The outputs of tools at the end. */
  get outputs(): readonly CallOutput[] {
    return this.#input === undefined ? this.#outputs : []
  }

  /** The answers to approvals at the end. */
  get approvals(): readonly ApprovalAnswer[] {
    return this.#input === undefined ? this.#approvals : []
  }

  /**
   * All messages as one, where the conversation before them is known already.
   * @throws OPENAI_ERR_BAD_REQUEST if some are not the user's
   */
  joinedInput(): string | ContentPart[] | undefined {
    const earlier = this.#messages.map((message) => {
      if (message.role === 'user') return message.content as string | ContentPart[]
      throw new OPENAI_ERR_BAD_REQUEST(
        'input: only messages of the user can follow what the service has kept'
      )
    })
    if (earlier.length === 0 || this.#input === undefined) return this.#input
    const all = [...earlier, this.#input]
    return all.every((each) => typeof each === 'string')
      ? all.join('\n\n')
      : all.flatMap((each) => (typeof each === 'string' ? [{ type: 'text' as const, text: each }] : each))
  }

  instruct(text: string | undefined | null): void {
    if (text) this.#instructions.push(text)
  }

  addUser(content: string | ContentPart[]): void {
    this.beginAnswers()
    this.#input = content
    this.#endCalls()
  }

  /** An answer that is blank says nothing: providers refuse it. */
  addAssistant(text: string): void {
    if (text.trim() === '') return
    this.beginAnswers()
    this.#endCalls()
    this.#messages.push({ role: 'assistant', text })
  }

  addCall(toolCallId: string, toolName: string, json: string): void {
    this.beginAnswers()
    this.#names.set(toolCallId, toolName)
    const call = { toolCallId, toolName, args: json.trim() === '' ? {} : valueOfText(json) }
    const last = this.#calling ?? this.#messages.at(-1)
    if (last?.role === 'assistant') last.toolCalls = [...(last.toolCalls ?? []), call]
    else this.#messages.push({ role: 'assistant', text: '', toolCalls: [call] } satisfies AssistantMessage)
    this.#calling = (last?.role === 'assistant' ? last : this.#messages.at(-1)) as AssistantMessage
    this.#unanswered.add(toolCallId)
  }

  addOutput(callId: string, output: string, isDeclined = false): void {
    this.#settle()
    this.#outputs.push({ callId, output, isDeclined })
    this.#addResult(callId, output)
  }

  /** A call that the service has executed. */
  addServedCall(id: string, toolName: string, json: string, output: string): void {
    this.addCall(id, toolName, json)
    this.#addResult(id, output)
  }

  addApproval(approval: ApprovalAnswer): void {
    this.#settle()
    this.#approvals.push(approval)
  }

  /** What was answered before is history: the service has said or asked something since. */
  beginAnswers(): void {
    this.#settle()
    this.#outputs = []
    this.#approvals = []
  }

  #addResult(callId: string, output: string): void {
    this.#unanswered.delete(callId)
    if (this.#unanswered.size === 0) this.#calling = undefined
    const toolName = this.#names.get(callId)
    if (toolName !== undefined)
      this.#messages.push({ role: 'tool', toolCallId: callId, toolName, result: valueOfText(output) })
  }

  #endCalls(): void {
    this.#calling = undefined
    this.#unanswered.clear()
  }

  #settle(): void {
    if (this.#input === undefined) return
    this.#messages.push({ role: 'user', content: toStored(this.#input) })
    this.#input = undefined
  }
}

/**
 * The input for a message: as it is, or its JSON for a runnable with an input schema.
 * @throws OPENAI_ERR_BAD_REQUEST
 */
export function toRunInput(
  content: string | ContentPart[],
  { inputSchema }: Pick<Runnable, 'inputSchema'>
): RunInput {
  if (inputSchema === undefined || typeof content !== 'string') return content
  try {
    return JSON.parse(content) as unknown
  } catch {
    throw new OPENAI_ERR_BAD_REQUEST('the last message must be JSON, since this model has an input schema')
  }
}

// Earlier messages keep texts and links; of other files only that there was one.
function toStored(content: string | ContentPart[]): UserContent {
  if (typeof content === 'string') return content
  return content.map((part) =>
    part.type === 'text' || 'url' in part
      ? part
      : { type: 'text', text: `[${part.filename ?? part.mimeType}]` }
  )
}
