import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { MemoryTurn } from '@svc/runtime'
import type { ScriptedModel } from '@svc/runtime/testing'
import { readSmallTalk } from './assistant/small-talk.ts'
import { looksLikeQuestion } from './assistant/split-questions.ts'
import { outcomeOf, type Conversation } from './conversation.ts'
import { ruleModel, type Move } from './rule-model.ts'

const HELP =
  'Tell me something about yourself, as “My dog is called Rex.”, and ask for it in any session. From rough notes I write minutes.'
const MINUTES = /\bminutes\b/i
const FORGET = /^\s*(?:please )?forget\b/i
const EVERYTHING = /\b(?:know|remember)\b.*\babout me\b|\beverything\b/i
const SKILL = ['minutes', 'template.md'] as const
/** How a line of rough notes begins that belongs to a section of the template. */
const SECTIONS = { decisions: /^(?:decided|agreed)\b[:,]?\s*/i, actions: /^(?:todo|action)\b[:,]?\s*/i }

/** Answers from what it remembers, and writes minutes by its skill. */
export function createOfflineCompanion(): ScriptedModel {
  return ruleModel('offline-companion', decide)
}

/** What to remember of a turn: a message that is neither a question nor a task. */
export function factsOf({ input }: MemoryTurn): string[] {
  return isFact(input) ? [input] : []
}

function isFact(text: string): boolean {
  const isTask = MINUTES.test(text) || FORGET.test(text) || looksLikeQuestion(text)
  return !isTask && readSmallTalk(text, { turns: [], before: [], calls: [] }) === undefined
}

function decide(conversation: Conversation, { prompt }: LanguageModelV4CallOptions): Move {
  const { message } = conversation
  if (isFact(message)) return { answer: 'I will remember that.' }
  if (MINUTES.test(message)) return writeMinutes(conversation)
  if (FORGET.test(message))
    return { answer: 'I cannot forget one thing: memories expire, or go with the database.' }
  if (readSmallTalk(message, { turns: [], before: [], calls: [] }) !== undefined) return { answer: HELP }
  const system = prompt.find(({ role }) => role === 'system')?.content
  const fact = /<memory>[^]*?^- ([^]*?)\n(?:- |<\/memory>)/m.exec(
    typeof system === 'string' ? system : ''
  )?.[1]
  if (fact !== undefined) return { answer: `You told me: “${fact.trim()}”` }
  return {
    answer: EVERYTHING.test(message)
      ? 'I recall what fits the words of a question, not everything at once: ask me for one thing.'
      : 'You have not told me anything about that.'
  }
}

// The skill, then its template, then the minutes.
function writeMinutes({ message, outcomes }: Conversation): Move {
  const [name, file] = SKILL
  for (const args of [{ name }, { name, file }]) {
    const call = { toolName: 'load_skill', args }
    const { result, error } = outcomeOf(outcomes, call) ?? {}
    if (error !== undefined) return { answer: `I could not load the skill: ${error}` }
    if (result === undefined) return { calls: [call] }
    if ('file' in args) return { answer: fillTemplate((result as { content: string }).content, message) }
  }
  return { answer: HELP }
}

/** Sorts rough notes, one sentence or line each, into the sections of a template; empty sections are left out. */
function fillTemplate(template: string, message: string): string {
  const rough = message.replace(/^[^:\n]*\bminutes\b[^:\n]*:?/i, '')
  const lines = rough.split(/\n|(?<=[.!])\s+/).filter((line) => line.trim() !== '')
  return template
    .replace(/^## .*\n+\{\{(\w+)\}\}\n*/gm, (section, name: string) => {
      const own = lines.filter((line) => sectionOf(line) === name)
      const sign = SECTIONS[name as keyof typeof SECTIONS] ?? /^$/
      const items = own.map((line) => `- ${line.trim().replace(sign, '')}`).join('\n')
      return own.length === 0 ? '' : section.replace(`{{${name}}}`, () => items)
    })
    .trim()
}

function sectionOf(line: string): string {
  return Object.entries(SECTIONS).find(([, sign]) => sign.test(line.trim()))?.[0] ?? 'notes'
}
