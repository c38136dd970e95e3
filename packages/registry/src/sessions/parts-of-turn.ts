import { ZERO_USAGE, type NumberedPart } from '@svc/contract'
import type { Turn } from './read-turns.ts'

/**
 * The log that would have left the messages of a turn, for a wire whose run's own log is no longer kept: what a session does not keep, such
 * as reasoning, times and usage, is missing.
 */
export function* partsOfTurn({ runId, messages }: Turn, sessionId: string): Generator<NumberedPart> {
  let seq = 0
  const place = () => ({ seq: ++seq, at: 0 })
  const [first] = messages
  const input = first?.role === 'user' && { input: first.content }
  yield { type: 'start', runId, sessionId, kind: 'agent', name: '', ...input, ...place() }
  let index = 0
  for (const message of first?.role === 'user' ? messages.slice(1) : messages) {
    if (message.role === 'user') {
      const value = { steerId: `${runId}.${seq}`, message: message.content }
      yield { type: 'data', name: 'steer', value, ...place() }
    } else if (message.role === 'assistant') {
      yield { type: 'step.start', index: index++, attempt: 1, ...place() }
      if (message.text !== '') yield { type: 'text', text: message.text, ...place() }
      for (const file of message.files ?? []) {
        const { type: _, ...about } = file
        yield { type: 'file', ...about, ...place() }
      }
      for (const { toolCallId, toolName, args, providerExecuted } of message.toolCalls ?? [])
        yield {
          type: 'tool.call',
          ...{ toolCallId, toolName, args },
          ...(providerExecuted && { providerExecuted }),
          ...place()
        }
    } else {
      const { toolCallId, toolName, result, error } = message
      if (error === undefined)
        yield { type: 'tool.result', toolCallId, toolName, result, durationMs: 0, ...place() }
      else yield { type: 'tool.error', toolCallId, toolName, error, ...place() }
    }
  }
  yield { type: 'step', index, usage: ZERO_USAGE, ...place() }
}
