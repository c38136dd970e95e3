import type { YieldedPart } from '@svc/contract'
import type { ModelToolCall } from '../models/model-answer.ts'
import type { EmitPart, ToolOutcome } from './call-journal.ts'
import { serveCall, type ToolCalls } from './call-tool.ts'

/**
 * Serves the tool calls of one step in parallel: yields each outcome as it arrives, and the parts of nested calls; returns
 * the outcomes in the order of the calls.
 * @throws the reason why the run must end
 */
export async function* callTools(
  toolCalls: readonly ModelToolCall[],
  calls: Omit<ToolCalls, 'emit'>
): AsyncGenerator<YieldedPart, ToolOutcome<ModelToolCall>[]> {
  const outcomes: ToolOutcome<ModelToolCall>[] = []
  const ready: { readonly part: YieldedPart; readonly onRead: (() => void) | undefined }[] = []
  let left = toolCalls.length
  let wake: PromiseWithResolvers<void> | undefined
  let failure: { err: unknown } | undefined
  const emit: EmitPart = (part, onRead) => {
    ready.push({ part, onRead })
    wake?.resolve()
  }
  const serve = async (call: ModelToolCall, index: number) => {
    const { outcome, part } = await serveCall(call, { ...calls, emit })
    outcomes[index] = outcome
    left--
    emit(part)
  }
  for (const [index, call] of toolCalls.entries())
    serve(call, index).catch((err: unknown) => {
      failure ??= { err }
      wake?.resolve()
    })
  for (let next = 0; left > 0 || next < ready.length; next++) {
    if (next === ready.length) {
      wake = Promise.withResolvers()
      await wake.promise
    }
    calls.guard.check()
    if (failure !== undefined) throw failure.err
    const { part, onRead } = ready[next]!
    yield part
    onRead?.()
  }
  return outcomes
}
