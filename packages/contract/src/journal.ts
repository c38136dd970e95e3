import type { StepFinishReason, YieldedPart } from './part.ts'
import type { Usage } from './usage.ts'
import type { Awaitable } from './ports/awaitable.ts'

/** A part with a recorded value. */
export interface RecordedPart<P extends YieldedPart> {
  /** The part to yield, or a copy of it made by spreading. */
  readonly part: P
  /**
   * Resolves when the value is in the store. Call it after the part was taken: a value whose part never reached the engine, because
   * a runnable in between dropped it, is stored by itself.
   */
  stored(): Awaitable<void>
}

/** The last answer of a run's own model that its log has complete, if nothing but text and reasoning is in it. */
export interface EarlierAnswer {
  readonly text: string
  readonly usage?: Usage | undefined
  readonly finishReason: StepFinishReason
  /** True if the structured answer follows. */
  readonly isStructured: boolean
}

/** What a call waited for, according to the log of an earlier process: for nothing, for an answer, or no longer. */
export type EarlierWait = 'none' | 'waiting' | 'answered'

/**
 * The journal of a resumable run, as one of its contexts sees it: values that are stored in the transactions of the parts they belong
 * to, so that another process finds both or neither. Keys are separate for each context.
 */
export interface Journal {
  /** The value that an earlier process recorded; undefined if there is none. */
  recall(key: string): Awaitable<{ readonly output: unknown } | undefined>
  /** Records a value, as JSON, together with a part. The first value of a key counts. */
  record<P extends YieldedPart>(part: P, key: string, value: unknown): RecordedPart<P>
  /**
   * Marks a part that the log of an earlier process has. A collector of the runnable's parts takes it like any other, and the
   * engine does not write it again.
   */
  replay<P extends YieldedPart>(part: P): P
  /**
   * The number of the last attempt at a step that an earlier process began and did not end; 0 if there is none. Each such attempt is
   * returned once, so that it is replaced once: several calls of one member may have been in progress.
   */
  takeAttempt(index: number): number
  /** The answer of a step that ended the run's own loop, but not yet the run; undefined for members and steps. */
  earlierAnswer(index: number): EarlierAnswer | undefined
  /** What a tool call of this context waited for in an earlier process: for approvals and inputs, those of nested calls included. */
  earlierWait(toolCallId: string): EarlierWait
  /** True if the log of an earlier process has this tool call. */
  hasCall(toolCallId: string): boolean
  /** True if the log of an earlier process has parts of this context, or of members or steps within. */
  readonly begun: boolean
  /**
   * Marks the beginning of work that waits for no one; the returned function marks its end. A run without such work may leave memory
   * while it waits, and is left for another process when the service shuts down.
   */
  work(): () => void
  /** Resolves when the parts that were yielded so far are in the store; never if they cannot be stored, which ends the run. */
  written(): Awaitable<void>
  /** Resolves at once, or never if the run is about to be left for another process; then its signal ends the wait. */
  mayContinue(): Awaitable<void>
}
