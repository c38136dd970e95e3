import { randomUUID } from 'node:crypto'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { MemoryTurn } from '@svc/runtime'
import { scriptedModel, type ScriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import { outcomeOf, type Conversation } from './conversation.ts'
import { fillMinutes } from './fill-minutes.ts'
import { readPrompt } from './read-prompt.ts'

const QUESTION =
  /\?\s*$|^\s*(?:what|who|whom|whose|where|when|which|why|how|do|does|did|am|is|are|can|tell me)\b/i
const MINUTES = /\bminutes\b/i
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
  return QUESTION.test(input) || MINUTES.test(input) ? [] : [input]
}

function decide(prompt: LanguageModelV4Prompt): ScriptedTurn {
  const conversation = readPrompt(prompt)
  if (MINUTES.test(conversation.message)) return writeMinutes(conversation)
  if (!QUESTION.test(conversation.message)) return say('I will remember that.')
  const [fact] = remembered(prompt)
  return say(fact === undefined ? 'You have not told me anything about that.' : `You told me: “${fact}”`)
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
