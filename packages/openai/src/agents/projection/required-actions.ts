import type { AskingPart } from '@svc/contract'
import type { AgentFunction, RequiredAction } from '../wire/agent-schemas.ts'

/** The function as which a session asks the user a question, if its client declares it. */
const ASK_USER = 'ask_user'
/** The function as which a session asks for credentials. */
const AUTHENTICATE = 'authenticate'

/** A question as a call of a function. */
export function toQuestion({ kind, message, schema, expiresAt }: AskingPart & { type: 'input.request' }) {
  return {
    name: kind === 'auth' ? AUTHENTICATE : ASK_USER,
    arguments: { message: message ?? '', ...(schema !== undefined && { schema }), expires_at: expiresAt }
  }
}

/** True if questions are calls of a function of the client. */
export function declaresQuestions(tools: readonly AgentFunction[] | undefined): boolean {
  return tools?.some(({ name }) => name === ASK_USER) === true
}

/** What a session waits for. @param callId of a call of a function of the client */
export function toRequiredAction(
  part: AskingPart,
  turnId: string,
  label: string,
  callId: string | undefined
): RequiredAction {
  if (part.type === 'tool.approval.request') {
    const { approvalId, toolName: name, args } = part
    const message = `The tool "${name}" is to be called`
    return {
      type: 'mcp_approval_request',
      request_id: approvalId,
      turn_id: turnId,
      request: { type: 'mcp_tool_call', server_label: label, name, arguments: args ?? {}, message }
    }
  }
  const { inputId, kind, toolName = '', args } = part
  const called = kind === 'tool' ? { name: toolName, arguments: args ?? {} } : toQuestion(part)
  return { type: 'function_call', call_id: callId ?? inputId, turn_id: turnId, ...called }
}
