import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { PartSink, RunContext, ToolChoice } from '@svc/contract'
import type { RunEvents } from '../events/run-events.ts'
import type { RunGuard } from '../guards/run-guard.ts'
import type { Turn } from '../sessions/turn.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import type { LoopJournal } from './loop-journal.ts'

/** The run of a loop. */
export interface LoopHost {
  readonly kind: 'agent' | 'team'
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  readonly sink?: PartSink | undefined
}

/** The state at the start of a loop. */
export interface LoopState {
  readonly turn: Turn
  readonly model: LanguageModelV4
  readonly tools: ToolSet
  /** The sections after the instructions in the system prompt. */
  readonly sections: readonly (string | undefined)[]
  readonly journal: LoopJournal | undefined
}

/** Overrides for one step by the mode of a team. */
export interface StepOverrides {
  readonly tools?: ToolSet
  readonly toolChoice?: ToolChoice
}
