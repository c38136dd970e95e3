import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'
import { Conversation } from '../wire/conversation.ts'
import { readContent, textOfContent } from '../wire/read-content.ts'
import type { InputItem, ResponseBody } from './response-schemas.ts'

/** Reads the input of a response. @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED */
export function readInput({
  input,
  instructions
}: Pick<ResponseBody, 'input' | 'instructions'>): Conversation {
  const conversation = new Conversation()
  conversation.instruct(instructions)
  if (typeof input === 'string') conversation.addUser(input)
  else input.forEach((item, index) => readItem(new GivenItem(item, `input[${index}]`), conversation))
  return conversation
}

// Items of other types are of no use here: they are what tools of other services and clients have done.
function readItem(item: GivenItem, conversation: Conversation): void {
  switch (item.fields.type ?? 'message') {
    case 'message':
      return addMessage(item, conversation)
    case 'function_call':
      return conversation.addCall(item.text('call_id'), item.text('name'), item.text('arguments'))
    case 'function_call_output': {
      const isDeclined = item.fields.status === 'incomplete'
      return conversation.addOutput(item.text('call_id'), readOutput(item), isDeclined)
    }
    case 'mcp_call':
      return addServedCall(item, conversation)
    case 'mcp_approval_request':
      return conversation.beginAnswers()
    case 'mcp_approval_response': {
      const { approve, reason } = item.fields
      if (typeof approve !== 'boolean')
        throw new OPENAI_ERR_BAD_REQUEST(`${item.param}.approve must be a boolean`)
      const approvalId = item.text('approval_request_id')
      return conversation.addApproval({
        approvalId,
        approved: approve,
        ...(typeof reason === 'string' && reason !== '' && { reason })
      })
    }
    default:
  }
}

function addMessage({ fields, param }: GivenItem, conversation: Conversation): void {
  const { role = 'user', content, phase = null } = fields
  if (phase !== null && phase !== 'commentary' && phase !== 'final_answer')
    throw new OPENAI_ERR_BAD_REQUEST(`${param}.phase must be commentary or final_answer`)
  const read = readContent(content, `${param}.content`)
  if (role === 'user') conversation.addUser(read)
  else if (role === 'assistant') conversation.addAssistant(textOfContent(read))
  else if (role === 'system' || role === 'developer') conversation.instruct(textOfContent(read))
  else throw new OPENAI_ERR_BAD_REQUEST(`${param}.role must be user, assistant, system or developer`)
}

// A call without an outcome has not ended: no model takes it.
function addServedCall(item: GivenItem, conversation: Conversation): void {
  const { output, error } = item.fields
  const outcome = output ?? error
  if (outcome === undefined || outcome === null) return conversation.beginAnswers()
  const text = typeof outcome === 'string' ? outcome : JSON.stringify(outcome)
  conversation.addServedCall(item.text('id'), item.text('name'), item.text('arguments'), text)
}

// The outputs of tools are JSON or texts on every surface.
function readOutput({ fields, param }: GivenItem): string {
  const read = readContent(fields.output, `${param}.output`)
  if (typeof read === 'string') return read
  throw new OPENAI_ERR_UNSUPPORTED(`${param}.output: files in the output of a tool`)
}

/** An item of the input, and where it is. */
class GivenItem {
  readonly fields: InputItem
  readonly param: string

  constructor(fields: InputItem, param: string) {
    this.fields = fields
    this.param = param
  }

  /** @throws OPENAI_ERR_BAD_REQUEST if the field is no text */
  text(name: keyof InputItem): string {
    const value = this.fields[name]
    if (typeof value === 'string') return value
    throw new OPENAI_ERR_BAD_REQUEST(`${this.param}.${name} must be a string`)
  }
}
