import type { MemoryTurn } from '@svc/runtime'
import type { ScriptedModel } from '@svc/runtime/testing'
import { outcomeOf, ruleModel, type Conversation, type Move } from './rule-model.ts'

const HELP =
  'Tell me something about yourself, as “My dog is called Rex.”, and ask for one thing in any session. From rough notes I write minutes.'
const MINUTES = /\bminutes\b/i
const QUESTION = /\?\s*$|^(?:what|who|when|where|which|how|do|tell)\b/i
/** What is neither a question nor a fact. */
const OTHER = /^(?:hi|hello|hey|thanks|ok|help|forget|what can you do)\b|\babout me\b|\beverything\b/i
const SKILL = { toolName: 'load_skill', args: { name: 'minutes' } }
const TEMPLATE = { toolName: 'load_skill', args: { name: 'minutes', file: 'template.md' } }
/** The first words of a line of rough notes, by the section of the template it belongs to. */
const SECTIONS = {
  decisions: /^(?:decided|agreed)\b[:,]?\s*/i,
  actions: /^(?:todo|action)\b[:,]?\s*/i,
  notes: /^/
}

/** Answers from what it remembers, and writes minutes by its skill. */
export function createOfflineCompanion(): ScriptedModel {
  return ruleModel('offline-companion', decide)
}

/** What to remember of a turn: a message that is neither a question nor a task. */
export function factsOf({ input }: MemoryTurn): string[] {
  return [MINUTES, QUESTION, OTHER].some((each) => each.test(input)) ? [] : [input]
}

function decide(conversation: Conversation): Move {
  const { message, situation } = conversation
  if (MINUTES.test(message)) return writeMinutes(conversation)
  if (OTHER.test(message)) return { answer: HELP }
  if (!QUESTION.test(message)) return { answer: 'I will remember that.' }
  // The runtime puts the memories that fit a message behind it.
  const fact = /<memory>[^]*?^- ([^]*?)\n(?:- |<\/memory>)/m.exec(situation)?.[1]
  return {
    answer: fact === undefined ? 'You have not told me anything about that.' : `You told me: “${fact.trim()}”`
  }
}

// The skill, then its template, then the minutes.
function writeMinutes({ message, outcomes }: Conversation): Move {
  for (const call of [SKILL, TEMPLATE]) {
    const outcome = outcomeOf(outcomes, call)
    if (outcome === undefined) return { calls: [call] }
    if (outcome.error !== undefined) return { answer: `I could not load the skill: ${outcome.error}` }
  }
  const { content } = outcomeOf(outcomes, TEMPLATE)!.result as { content: string }
  return { answer: fill(content, message) }
}

/** Sorts rough notes, one sentence or line each, into the sections of a template; empty sections are left out. */
function fill(template: string, message: string): string {
  const rough = message.replace(/^[^:\n]*\bminutes\b[^:\n]*:?/i, '')
  const lines = rough
    .split(/\n|(?<=[.!])\s+/)
    .map((line) => line.trim())
    .filter(Boolean)
  const sections = Map.groupBy(
    lines,
    (line) => Object.entries(SECTIONS).find(([, first]) => first.test(line))![0]
  )
  return template
    .replace(/^## .*\n+\{\{(\w+)\}\}\n*/gm, (section, name: keyof typeof SECTIONS) => {
      const items = sections.get(name)?.map((line) => `- ${line.replace(SECTIONS[name], '')}`)
      return items === undefined ? '' : section.replace(`{{${name}}}`, () => items.join('\n'))
    })
    .trim()
}
