import type { ContentPart, RunnableDefinition } from '@svc/registry'
import { createWaiting } from './agents.ts'

/** What the calculator's tool takes and returns: clients are to see nothing of it. */
export const SECRETS = ['expression', '6 * 7', 'ledger-9']

/** The file that the archivist makes. */
export const TABLE = 'a,b\n1,2\n'

/** Calls a tool between two steps, and answers in three chunks. */
const calculator: RunnableDefinition = {
  kind: 'agent',
  name: 'calculator',
  async *stream() {
    const call = { toolCallId: 'c1', toolName: 'calculate' }
    yield { type: 'step.start', index: 0, attempt: 1 }
    yield { type: 'text', text: 'Let me see. ' }
    yield { type: 'tool.call', ...call, args: { expression: '6 * 7' } }
    const result = { expression: '6 * 7', value: 42, source: 'ledger-9' }
    yield { type: 'tool.result', ...call, result, durationMs: 1 }
    yield { type: 'step.start', index: 1, attempt: 1 }
    for (const text of ['The answer ', 'is ', '42.']) yield { type: 'text', text }
  }
}

/** Asks for a size, and repeats the answer. */
const tailor: RunnableDefinition = {
  kind: 'agent',
  name: 'tailor',
  async *stream(_input, context) {
    const { action, content } = await context.ask({ message: 'Which size?' })
    yield { type: 'text', text: `${action}: ${String(content)}.` }
  }
}

/** Repeats the content of a text file, and makes one. */
const archivist: RunnableDefinition = {
  kind: 'agent',
  name: 'archivist',
  async *stream(input, { runId, stores }) {
    for (const part of typeof input === 'string' ? [] : (input as ContentPart[]))
      if (part.type === 'file' && 'data' in part)
        yield { type: 'text', text: `${part.mimeType}: ${Buffer.from(part.data!, 'base64').toString()}` }
    const file = { mimeType: 'text/csv', filename: 'table.csv', content: Buffer.from(TABLE) }
    const { createdAt: _, ...kept } = await stores.files!.put(runId, file)
    yield { type: 'file', ...kept }
  }
}

/** The agents that every client talks to; `waiting` is the one whose task is canceled. */
export function createScenarioAgents() {
  const waiting = createWaiting('waiter')
  return { waiting, runnables: [calculator, tailor, archivist, waiting.runnable] }
}
