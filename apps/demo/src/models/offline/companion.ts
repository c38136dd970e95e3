import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { MemoryTurn } from '@svc/runtime'
import type { ScriptedModel } from '@svc/runtime/testing'
import { readSmallTalk } from './assistant/small-talk.ts'
import { looksLikeQuestion } from './assistant/split-questions.ts'
import { outcomeOf, type Conversation } from './conversation.ts'
import { ruleModel, type Move } from './rule-model.ts'

const HELP =
  'Tell me something about yourself, as “My dog is called Rex.”, and ask for it in any session. From rough notes I write minutes.'
const NOT_ALL = 'I recall what fits the words of a question, not everything at once: ask me for one thing.'
const MINUTES = /\bminutes\b/i
const FORGET = /^\s*(?:please )?forget\b/i
const EVERYTHING = /\b(?:know|remember)\b.*\babout me\b|\beverything\b/i
const SKILL = { name: 'minutes' }
const TEMPLATE = { ...SKILL, file: 'template.md' }
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
  const isTask = MINUTES.test(input) || FORGET.test(input) || looksLikeQuestion(input)
  return isTask || isSmallTalk(input) ? [] : [input]
}

function isSmallTalk(text: string): boolean {
  return readSmallTalk(text, { turns: [], before: [], calls: [] }) !== undefined
}

function decide(conversation: Conversation, { prompt }: LanguageModelV4CallOptions): Move {
  const { message } = conversation
  if (isSmallTalk(message)) return { answer: HELP }
  if (MINUTES.test(message)) return writeMinutes(conversation)
  if (FORGET.test(message))
    return { answer: 'I cannot forget one thing: memories expire, or go with the database.' }
  if (!looksLikeQuestion(message)) return { answer: 'I will remember that.' }
  const system = prompt.find(({ role }) => role === 'system')?.content
  const fact = /<memory>[^]*?^- ([^]*?)\n(?:- |<\/memory>)/m.exec(
    typeof system === 'string' ? system : ''
  )?.[1]
  if (fact !== undefined) return { answer: `You told me: “${fact.trim()}”` }
  return { answer: EVERYTHING.test(message) ? NOT_ALL : 'You have not told me anything about that.' }
}

// The skill, then its template, then the minutes.
function writeMinutes({ message, outcomes }: Conversation): Move {
  const [skill, template] = [SKILL, TEMPLATE].map((args) => ({ toolName: 'load_skill', args }))
  const next = outcomeOf(outcomes, skill!) === undefined ? skill! : template!
  const { result, error } = outcomeOf(outcomes, template!) ?? outcomeOf(outcomes, next) ?? {}
  if (error !== undefined) return { answer: `I could not load the skill: ${error}` }
  return result === undefined
    ? { calls: [next] }
    : { answer: fill((result as { content: string }).content, message) }
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
