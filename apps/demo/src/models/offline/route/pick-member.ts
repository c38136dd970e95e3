import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { readNoteRequest } from '../notes/decide-note.ts'
import { toProgram } from '../offline-analyst.ts'
import type { PlannedCall } from '../plan.ts'

const STATISTICS = /\b(?:statistics?|stats|mean|average|median|minimum|maximum|analy[sz]e)\b|```/i

/** The call with which the leader of a team hands a message on; undefined for one that leads no team. */
export function pickMember(
  message: string,
  tools: LanguageModelV4CallOptions['tools'] = []
): PlannedCall | undefined {
  const tool = tools.find(({ name }) => name === 'route')
  if (tool?.type !== 'function') return undefined
  const { member } = (tool.inputSchema.properties ?? {}) as { member?: { enum?: string[] } }
  const members = member?.enum ?? []
  const wanted = bestFor(message)
  return { toolName: 'route', args: { member: members.includes(wanted) ? wanted : members[0] } }
}

function bestFor(message: string): string {
  if (readNoteRequest(message) !== undefined) return 'notes'
  if (STATISTICS.test(message) && toProgram(message) !== undefined) return 'analyst'
  return 'assistant'
}
