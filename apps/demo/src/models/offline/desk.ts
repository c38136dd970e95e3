import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { toProgram } from './analyst.ts'
import type { Call } from './conversation.ts'
import { readNoteRequest } from './notes.ts'

const STATISTICS = /\b(?:statistics?|stats|mean|average|median|minimum|maximum|analy[sz]e)\b|```/i

/** The call by which the leader of a team hands over a message; undefined outside a team. */
export function pickMember(
  message: string,
  tools: LanguageModelV4CallOptions['tools'] = []
): Call | undefined {
  const tool = tools.find(({ name }) => name === 'route')
  if (tool?.type !== 'function') return undefined
  const { member } = (tool.inputSchema.properties ?? {}) as { member?: { enum?: string[] } }
  const members = member?.enum ?? []
  const wanted = bestFor(message)
  return { toolName: 'route', args: { member: members.includes(wanted) ? wanted : members[0] } }
}

function bestFor(message: string): string {
  if (readNoteRequest(message) !== undefined) return 'notes'
  return STATISTICS.test(message) && toProgram(message) !== undefined ? 'analyst' : 'assistant'
}
