import { appendFileSync, readFileSync } from 'node:fs'
import type { Registry } from '@svc/registry'
import { Agent, type Tool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import type { ModelCall } from '../agents/read-prompt.ts'

// Milliseconds between two increments of an answer.
const PACE = 10

/** What the agent `pupil` answers to a message. */
export function answerTo(id: string): string {
  return `re ${id} as you said`
}

/**
 * Adds the agent `pupil`. Its messages are an id and the names of the tools to call first, each in a step of its own. Each call of its model
 * writes down what it was shown: the ids of all messages, and which answers.
 */
export function addPupil(registry: Registry, tools: Tool[], file: string): void {
  const model = scriptedModel(
    ({ prompt }) => {
      const { shown, last, outcomes } = readConversation(prompt)
      appendFileSync(file, `${JSON.stringify(shown)}\n`)
      const [id = '', ...names] = last.split(' ')
      const toolName = names[outcomes]
      if (toolName !== undefined)
        return { toolCalls: [{ toolName, toolCallId: `c${outcomes + 1}`, args: {} }], delay: PACE }
      return { text: answerTo(id).split(/(?= )/), delay: PACE }
    },
    { record: false }
  )
  new Agent({ name: 'pupil', model, tools, registry })
}

function readConversation(prompt: ModelCall['prompt']) {
  const shown: string[] = []
  let last = ''
  let outcomes = 0
  for (const { role, content } of prompt)
    if (role === 'tool') outcomes++
    else if (role !== 'system')
      for (const part of content) {
        if (part.type !== 'text') continue
        // Beside a call of a tool an answer says nothing.
        if (role === 'assistant') shown.push(part.text)
        else {
          last = part.text
          outcomes = 0
          shown.push(last.split(' ')[0]!)
        }
      }
  return { shown, last, outcomes }
}

/** The turns of a session in the order of their acceptance: their messages, and whether they have failed. */
export type AcceptedTurns = readonly { readonly id: string; readonly hasFailed: boolean }[]

/** Compares what models were shown with what sessions had accepted; gives each difference. */
export function compareShown(file: string, sessions: readonly AcceptedTurns[]): string[] {
  const calls = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const byLast = Map.groupBy(
    calls.map((line) => JSON.parse(line) as string[]),
    (shown) => shown.findLast((text) => !text.startsWith('re '))!
  )
  const wrong: string[] = []
  for (const turns of sessions) {
    const before: string[] = []
    for (const { id, hasFailed } of turns) {
      const expected = [...before, id].join(', ')
      const found = new Set((byLast.get(id) ?? []).map((shown) => shown.join(', ')))
      for (const shown of found) if (shown !== expected) wrong.push(`${shown} instead of ${expected}`)
      if (hasFailed) continue
      if (found.size === 0) wrong.push(`nothing instead of ${expected}`)
      before.push(id, answerTo(id))
    }
  }
  return wrong
}
