import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { FinishReason, RunContext, RunnableKind } from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import type { RunGuard } from '../guards/run-guard.ts'
import type { ToolContext } from '../tools/define-tool.ts'
import type { EmitPart } from './call-journal.ts'

/** The step that the calls of a model belong to. */
export interface CallingStep {
  readonly runnable: { readonly kind: RunnableKind; readonly name: string }
  readonly stepNumber: number
  readonly messages: readonly LanguageModelV4Message[]
  /** Ends the run after the step. */
  readonly stopRun: (finishReason: FinishReason) => void
}

interface RunCalls {
  readonly step: CallingStep
  readonly context: RunContext
  readonly guard: RunGuard
  readonly emit: EmitPart
}

type RunAccess = Pick<
  ToolContext,
  'runnable' | 'stepNumber' | 'messages' | 'emit' | 'keepFile' | 'onEnd' | 'failRun' | 'stopRun'
>

/** What a tool sees of the run of its call, and does to it. */
export function accessRun({ step, context, guard, emit }: RunCalls, toolCallId: string): RunAccess {
  const { runnable, stepNumber, messages, stopRun } = step
  return {
    runnable,
    stepNumber,
    messages,
    emit: (part) => emit(part),
    async keepFile(file) {
      const part = await guard.wait(keepFile(context, { ...file, toolCallId }))
      emit(part)
      return part
    },
    onEnd: (listener) => guard.onRelease(listener),
    failRun(error) {
      guard.end(error)
      throw error
    },
    stopRun
  }
}
