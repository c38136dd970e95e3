import { randomUUID } from 'node:crypto'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { MemoryTurn } from '@svc/runtime'
import { scriptedModel, type ScriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import { outcomeOf, type Conversation } from './conversation.ts'
import { fillMinutes } from './fill-minutes.ts'
import { readSmallTalk } from './intents/read-small-talk.ts'
import { readPrompt } from './read-prompt.ts'

const QUESTION =
  /\?\s*$|^\s*(?:what|who|whom|whose|where|when|which|why|how|do|does|did|am|is|are|can|tell me)\b/i
const MINUTES = /\bminutes\b/i
const FORGET = /^\s*(?:please )?forget\b/i
const EVERYTHING = /\b(?:know|remember|recall|told)\b.*\b(?:about me|of me)\b|\beverything\b/i
const HELP =
  'Tell me something of yourself, as “My dog is called Rex.”, and ask for it in any session. Of rough notes I write the minutes.'
const TOOL = 'load_skill'
const SKILL = { name: 'minutes' }
const TEMPLATE = { ...SKILL, file: 'template.md' }

/** A model without a network: answers from what is remembered, and writes minutes as the skill has it. */
export function createOfflineCompanion(): ScriptedModel {
  return scriptedModel(({ prompt }) => decide(prompt), {
    provider: 'offline',
    modelId: 'offline-companion',
    record: false
  })
}

/** What of a turn is worth remembering: what the user said that is neither a question nor a task. */
export function factsOf({ input }: MemoryTurn): string[] {
  return isFact(input) ? [input] : []
}

function isFact(text: string): boolean {
  return ![QUESTION, MINUTES, FORGET].some((other) => other.test(text)) && readSmallTalk(text) === undefined
}

function decide(prompt: LanguageModelV4Prompt): ScriptedTurn {
  const conversation = readPrompt(prompt)
  const { message } = conversation
  if (isFact(message)) return say('I will remember that.')
  if (readSmallTalk(message) !== undefined) return say(HELP)
  if (MINUTES.test(message)) return writeMinutes(conversation)
  if (FORGET.test(message))
    return say('I cannot forget one thing: memories go with their time, or with the database.')
  const [fact] = remembered(prompt)
  if (fact !== undefined) return say(`You told me: “${fact}”`)
  return say(
    EVERYTHING.test(message)
      ? 'I recall what fits the words of a question, not everything at once: ask me for one thing.'
      : 'You have not told me anything about that.'
  )
}

// The skill first, then the file that it names, then the answer.
function writeMinutes({ message, outcomes }: Conversation): ScriptedTurn {
  for (const args of [SKILL, TEMPLATE]) {
    const outcome = outcomeOf(outcomes, { toolName: TOOL, args })
    if (outcome === undefined)
      return { toolCalls: [{ toolName: TOOL, args, toolCallId: `call_${randomUUID()}` }] }
    if (outcome.error !== undefined) return say(`I could not load the skill: ${outcome.error}`)
  }
  const { content } = outcomeOf(outcomes, { toolName: TOOL, args: TEMPLATE })!.result as { content: string }
  return say(fillMinutes(content, message))
}

function remembered(prompt: LanguageModelV4Prompt): string[] {
  const system = prompt.find(({ role }) => role === 'system')?.content
  const block = typeof system === 'string' ? /<memory>\n([^]*?)\n<\/memory>/.exec(system)?.[1] : undefined
  return (block ?? '')
    .split(/^- /m)
    .slice(1)
    .map((fact) => fact.trim())
}

function say(text: string): ScriptedTurn {
  return { text: text.split(/(?<= )/) }
}
