import type { PartError } from '@svc/contract'
import type { Annotation, ChatFinishReason, CompletionUsage, ToolCall } from './completion-schemas.ts'

/** A text that is added to the answer, or to the reasoning. */
export interface TextEvent {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

/** Of the answer and of the reasoning only the first characters count. */
export interface VoidEvent {
  readonly type: 'void'
  readonly kept: number
  readonly keptReasoning: number
}

/** The end of a completion. */
export interface EndEvent {
  readonly type: 'end'
  readonly reason: ChatFinishReason
  readonly calls: readonly ToolCall[]
  readonly annotations: readonly Annotation[]
  readonly usage: CompletionUsage
}

/** What happens to a completion, in order. */
export type CompletionEvent =
  | { readonly type: 'begin' }
  | TextEvent
  | VoidEvent
  | EndEvent
  | { readonly type: 'fail'; readonly error: Pick<PartError, 'code' | 'message'> }
