import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { toProgram } from './analyst.ts'
import { readNoteRequest } from './notes.ts'
import type { Conversation, Move } from './rule-model.ts'

const STATISTICS = /\b(?:statistics|mean|average|median)\b|```/i

/** The leader of a team hands a message over. */
export function pickMember({ message }: Conversation, tools: LanguageModelV4CallOptions['tools'] = []): Move {
  const route = tools.find(({ name }) => name === 'route')
  const { member } = (route?.type === 'function' ? route.inputSchema.properties : {}) as {
    member?: { enum?: string[] }
  }
  const members = member?.enum ?? []
  const best = bestFor(message)
  return { calls: [{ toolName: 'route', args: { member: members.includes(best) ? best : members[0] } }] }
}

function bestFor(message: string): string {
  if (readNoteRequest(message) !== undefined) return 'notes'
  return STATISTICS.test(message) && toProgram(message) !== undefined ? 'analyst' : 'assistant'
}
