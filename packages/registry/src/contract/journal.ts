import type { YieldedPart } from './part.ts'
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

/** A step of a loop in the log of an earlier process. */
export interface EarlierStep {
  /** Of its last `step.start`. */
  readonly attempt: number
  /** True if its `step` follows. */
  readonly ended: boolean
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
  /** The last attempt at a step of this context, if an earlier process began one. */
  earlierStep(index: number): EarlierStep | undefined
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
  /** Resolves at once, or never if the run is about to be left for another process; then its signal ends the wait. */
  mayContinue(): Awaitable<void>
}
