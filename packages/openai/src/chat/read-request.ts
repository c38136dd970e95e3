import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'
import { Conversation } from '../wire/conversation.ts'
import { readContent, textOfContent } from '../wire/read-content.ts'
import type { CompletionBody, MessageParam, ToolCall } from './completion-schemas.ts'

/** The messages of a request. */
export interface ReadMessages {
  readonly conversation: Conversation
  /** What is wrong with its tool calls: one without a result, or a result without one. */
  readonly fault: string | undefined
}

/** Reads the messages of a request. @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED */
export function readMessages(messages: readonly MessageParam[]): ReadMessages {
  const conversation = new Conversation()
  const calls = new OpenCalls()
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`
    const { role, content, tool_call_id: callId } = message
    switch (role) {
      case 'system':
      case 'developer':
        if (content) conversation.instruct(textOfContent(readContent(content, `${param}.content`)))
        break
      case 'user':
        calls.begin([], param)
        conversation.addUser(readContent(content, `${param}.content`))
        break
      case 'assistant':
        calls.begin(callsOf(message, index), param)
        addAnswer(message, callsOf(message, index), param, conversation)
        break
      case 'tool':
        if (callId === undefined) throw new OPENAI_ERR_BAD_REQUEST(`${param} must have a tool_call_id`)
        calls.answer(callId, param)
        conversation.addOutput(callId, toOutput(message, param))
        break
      case 'function': {
        const calledId = calls.onlyOpen
        if (calledId === undefined) throw new OPENAI_ERR_BAD_REQUEST(`${param} follows no function_call`)
        calls.answer(calledId, param)
        conversation.addOutput(calledId, toOutput(message, param))
      }
    }
  }
  calls.begin([], 'messages')
  return { conversation, fault: calls.fault }
}

/** The tool calls of the last answer that have no result yet. */
class OpenCalls {
  readonly #open = new Set<string>()
  #param = ''
  fault: string | undefined

  /** The call without a result, of a message that has one call only. */
  get onlyOpen(): string | undefined {
    return this.#open.size === 1 ? [...this.#open][0] : undefined
  }

  begin(calls: readonly { readonly id: string }[], param: string): void {
    const [id] = this.#open
    if (id !== undefined)
      this.fault ??= `${this.#param}.tool_calls: no message of the role tool follows for "${id}"`
    this.#open.clear()
    this.#param = param
    for (const call of calls) this.#open.add(call.id)
    if (this.#open.size < calls.length) this.fault ??= `${param}.tool_calls must have different ids`
  }

  answer(callId: string, param: string): void {
    if (!this.#open.delete(callId))
      this.fault ??= `${param}.tool_call_id is of no tool call that waits for a result`
  }
}

/** Checks that nothing is asked for that the service does not do. @throws OPENAI_ERR_UNSUPPORTED */
export function requireSupported(body: CompletionBody): void {
  const { n, logprobs, top_logprobs: topLogprobs, modalities } = body
  refuse('n', (n ?? 1) !== 1, 'n other than 1')
  refuse('logprobs', logprobs === true)
  refuse('top_logprobs', (topLogprobs ?? 0) !== 0)
  refuse('modalities', modalities?.some((each) => each !== 'text') === true, 'modalities other than "text"')
  for (const param of ['audio', 'web_search_options'] as const) refuse(param, isGiven(body[param]))
}

// The error names the parameter.
function refuse(param: string, isAsked: boolean, what = param): void {
  if (!isAsked) return
  const errors = [{ path: param, message: 'is not supported' }]
  throw Object.assign(new OPENAI_ERR_UNSUPPORTED(what), { errors })
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

function addAnswer(
  { content, refusal }: MessageParam,
  calls: readonly ToolCall[],
  param: string,
  conversation: Conversation
): void {
  const text = content ? textOfContent(readContent(content, `${param}.content`)) : (refusal ?? '')
  if (text !== '' || calls.length === 0) conversation.addAssistant(text)
  for (const { id, function: call } of calls) conversation.addCall(id, call.name, call.arguments)
}

// The call of a function has no id: no later request can continue its run.
function callsOf({ tool_calls: calls, function_call: call }: MessageParam, index: number): ToolCall[] {
  if (calls?.length) return calls
  return call ? [{ id: `message_${index}`, type: 'function', function: call }] : []
}

// Some clients send null for a tool that returns nothing.
function toOutput({ content }: MessageParam, param: string): string {
  return content === null || content === undefined
    ? 'null'
    : textOfContent(readContent(content, `${param}.content`))
}
