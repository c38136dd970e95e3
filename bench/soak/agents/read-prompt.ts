import type { Script } from '@svc/runtime/testing'
import type { Plan } from './plan.ts'

/** The options of a call of a model. */
export type ModelCall = Parameters<Extract<Script, (...args: never[]) => unknown>>[0]

/** What stands in a prompt. */
export interface Prompt {
  /** The system prompt, and how many messages it takes. */
  system: string
  systems: number
  /** The last plan; undefined if the last message of the user is none and no plan waits for an answer. */
  plan: Plan | undefined
  /** What came of the calls after the plan, by their ids. */
  outcomes: Map<string, string>
  /** How many times an answer was refused after the plan. */
  corrections: number
  /** The last message of the user. */
  later: string
  /** The conversation before the last message of the user, as JSON. */
  before: string
}

/** Reads a prompt. */
export function readPrompt(prompt: ModelCall['prompt']): Prompt {
  const systems = prompt.findIndex(({ role }) => role !== 'system')
  const system = prompt
    .slice(0, systems)
    .flatMap(({ role, content }) => (role === 'system' ? [content] : []))
    .join('\n')
  // What the user says in a row is one message, with a part for each.
  const users = prompt.flatMap(({ role, content }, index) =>
    role === 'user'
      ? content.flatMap((part) => (part.type === 'text' ? [{ index, text: part.text }] : []))
      : []
  )
  const last = users.at(-1)!
  const planned = users.findLastIndex(({ text }) => text.startsWith('{"id"'))
  const at = users[planned]
  const after = users.slice(planned + 1)
  const isRecall = after.some(({ text }) => text.startsWith('Recall.'))
  const outcomes = new Map<string, string>()
  for (const { role, content } of prompt.slice(at?.index ?? 0)) {
    if (role !== 'tool') continue
    for (const part of content) {
      if (part.type !== 'tool-result') continue
      const { output } = part
      outcomes.set(part.toolCallId, 'value' in output ? textOfValue(output.value) : 'denied')
    }
  }
  return {
    system,
    systems,
    plan: at === undefined || isRecall ? undefined : (JSON.parse(at.text) as Plan),
    outcomes,
    corrections: at === undefined ? users.length - 1 : after.length,
    later: last.text,
    before: JSON.stringify([
      ...prompt.slice(systems, last.index),
      ...users.slice(0, -1).filter(({ index }) => index === last.index)
    ])
  }
}

// A refusal is the same whether the call says so or `settle`.
function textOfValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return /denied|declined/.test(text) && !text.startsWith('asked') ? 'denied' : text
}
