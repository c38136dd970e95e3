import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ScriptedModel } from '@svc/runtime/testing'
import { answerQuestions } from './assistant.ts'
import { bookTable } from './booking.ts'
import { deliverParcels } from './courier.ts'
import { keepNotes } from './notes.ts'
import { pickMember } from './desk.ts'
import { callThenAnswer, ruleModel, type Conversation, type Move } from './rule-model.ts'
import { browseShop } from './scout.ts'
import { SPOKEN, toSpoken } from './spoken.ts'

type Tools = NonNullable<LanguageModelV4CallOptions['tools']>

/** Options of the offline model. */
export interface OfflineModelOptions {
  /** Milliseconds between two words; default 4. */
  delay?: number
}

/** The tools of the demo; any other is served by the client. */
const OWN_TOOLS = new Set([
  'search_docs',
  'read_section',
  'calculate',
  'current_time',
  'add_note',
  'list_notes',
  'delete_note',
  'ask_guest',
  'book_table',
  'deliver',
  'compute',
  'load_skill',
  'route'
])

/** A model without network or weights: rules that call the tools of an agent, and answer from what these gave. */
export function createOfflineModel({ delay = 4 }: OfflineModelOptions = {}): ScriptedModel {
  return ruleModel('offline', decide, delay)
}

// An agent is known by its tools.
function decide(conversation: Conversation, { tools = [], toolChoice }: LanguageModelV4CallOptions): Move {
  const usable = toolChoice?.type === 'none' ? [] : tools
  const names = new Set(usable.map(({ name }) => name))
  const ofClient = useClientTool(conversation, usable)
  if (ofClient !== undefined) return ofClient
  if (names.has('route')) return pickMember(conversation, usable)
  if (names.has('ask_guest')) return bookTable(conversation)
  if (names.has('deliver')) return deliverParcels(conversation)
  if (names.has('browser_open')) return browseShop(conversation)
  if (names.has('add_note')) return keepNotes(conversation)
  const move = answerQuestions(conversation, names)
  const isSpoken = conversation.instructions.includes(SPOKEN)
  return isSpoken && 'answer' in move ? { answer: toSpoken(move.answer) } : move
}

// A message that mentions the name of a client's tool, words apart, calls it.
function useClientTool({ message, outcomes }: Conversation, tools: Tools): Move | undefined {
  const said = message.toLowerCase()
  const tool = tools.find(
    ({ name }) => !OWN_TOOLS.has(name) && said.includes(name.toLowerCase().replaceAll(/[_-]/g, ' '))
  )
  if (tool === undefined) return undefined
  const { name } = tool
  return callThenAnswer(outcomes, { toolName: name, args: {} }, ({ result, error }) => {
    if (error !== undefined) return `Your ${name} did not answer: ${error}`
    return `Your ${name} says: ${typeof result === 'string' ? result : JSON.stringify(result)}`
  })
}
