import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'
import { Conversation } from '../wire/conversation.ts'
import { readContent, textOfContent } from '../wire/read-content.ts'
import type { InputItem, ResponseBody } from './response-schemas.ts'

/** An answer to an approval. */
export interface ApprovalAnswerItem {
  readonly approvalId: string
  readonly approved: boolean
  readonly reason?: string
}

/** What a request asks. */
export interface ReadInput {
  readonly conversation: Conversation
  readonly approvals: readonly ApprovalAnswerItem[]
}

/** Reads the input of a response. @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED */
export function readInput({ input, instructions }: Pick<ResponseBody, 'input' | 'instructions'>): ReadInput {
  const conversation = new Conversation()
  const approvals: ApprovalAnswerItem[] = []
  conversation.instruct(instructions)
  if (typeof input === 'string') conversation.addUser(input)
  else input.forEach((item, index) => readItem(item, `input[${index}]`, conversation, approvals))
  return { conversation, approvals }
}

function readItem(
  item: InputItem,
  param: string,
  conversation: Conversation,
  approvals: ApprovalAnswerItem[]
): void {
  const { type = 'message', role = 'user', content, call_id: callId, name, arguments: args, output } = item
  switch (type) {
    case 'message': {
      const read = readContent(content, `${param}.content`)
      if (role === 'user') conversation.addUser(read)
      else if (role === 'assistant') conversation.addAssistant(textOfContent(read))
      else conversation.instruct(textOfContent(read))
      break
    }
    case 'function_call':
      if (callId === undefined || name === undefined || args === undefined)
        throw new OPENAI_ERR_BAD_REQUEST(`${param} must have call_id, name and arguments`)
      conversation.addCall(callId, name, args)
      break
    case 'function_call_output':
      if (callId === undefined) throw new OPENAI_ERR_BAD_REQUEST(`${param} must have a call_id`)
      conversation.addOutput(callId, readOutput(output, `${param}.output`), item.status === 'incomplete')
      break
    case 'mcp_approval_response': {
      const { approval_request_id: approvalId, approve, reason } = item
      if (approvalId === undefined || approve === undefined)
        throw new OPENAI_ERR_BAD_REQUEST(`${param} must have approval_request_id and approve`)
      approvals.push({ approvalId, approved: approve, ...(reason && { reason }) })
      break
    }
    // What an earlier response had besides what was said.
    case 'reasoning':
    case 'mcp_approval_request':
      break
    default:
      throw new OPENAI_ERR_UNSUPPORTED(`input of the type ${JSON.stringify(type)}`)
  }
}

// The outputs of tools are JSON or texts on every surface.
function readOutput(output: unknown, param: string): string {
  const read = readContent(output, param)
  if (typeof read !== 'string') throw new OPENAI_ERR_UNSUPPORTED(`${param}: files in the output of a tool`)
  return read
}
