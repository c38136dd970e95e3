import type { YieldedPart } from '@svc/registry'
import type { ModelToolCall } from '../models/model-answer.ts'
import { callTool, type ToolCalls, type ToolOutcome } from './call-tool.ts'

/**
 * Serves the tool calls of one step in parallel: yields each outcome when it is there, and gives all of them in the
 * order of the calls.
 * @throws why the run has to end
 */
export async function* callTools(
  toolCalls: readonly ModelToolCall[],
  calls: ToolCalls
): AsyncGenerator<YieldedPart, ToolOutcome[]> {
  const outcomes: ToolOutcome[] = []
  const ended: ToolOutcome[] = []
  let wake: PromiseWithResolvers<void> | undefined
  const serve = async (call: ModelToolCall, index: number) => {
    const outcome = await callTool(call, calls)
    outcomes[index] = outcome
    ended.push(outcome)
    wake?.resolve()
  }
  for (const [index, call] of toolCalls.entries()) serve(call, index).catch(() => wake?.resolve())
  for (let told = 0; told < toolCalls.length; told++) {
    if (ended.length === told) {
      wake = Promise.withResolvers()
      await wake.promise
    }
    calls.guard.check()
    yield toPart(ended[told]!)
  }
  return outcomes
}

function toPart({ call: { toolCallId, toolName }, result, error, durationMs }: ToolOutcome): YieldedPart {
  if (error) return { type: 'tool.error', toolCallId, toolName, error }
  return { type: 'tool.result', toolCallId, toolName, result, durationMs }
}
