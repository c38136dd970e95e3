import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Conversation } from './conversation.ts'
import type { Move } from './rule-model.ts'

/** The tools of the demo; any other is served by the client. */
const OWN_TOOLS = new Set([
  ...['search_docs', 'read_section', 'calculate', 'current_time', 'add_note', 'list_notes', 'delete_note'],
  ...['ask_guest', 'book_table', 'deliver', 'compute', 'load_skill', 'route']
])

/**
 * Calls a tool of the client if the message mentions its name, words apart, and answers with what it gave; undefined if it
 * mentions none.
 */
export function answerByClientTool(
  { message, outcomes }: Conversation,
  tools: LanguageModelV4CallOptions['tools'] = []
): Move | undefined {
  const said = message.slice(0, 20_000).toLowerCase()
  const tool = tools.find(
    ({ name }) => !OWN_TOOLS.has(name) && said.includes(name.toLowerCase().replaceAll(/[_-]/g, ' '))
  )
  if (tool === undefined) return undefined
  const outcome = outcomes.find(({ toolName }) => toolName === tool.name)
  if (outcome === undefined) return { calls: [{ toolName: tool.name, args: {} }] }
  const { result, error } = outcome
  if (error !== undefined) return { answer: `Your ${tool.name} did not answer: ${error}` }
  return { answer: `Your ${tool.name} says: ${typeof result === 'string' ? result : JSON.stringify(result)}` }
}
