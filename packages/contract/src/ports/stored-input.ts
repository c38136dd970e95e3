import type { InputKind, InputOutcome } from '../input.ts'
import type { RunnableKey } from '../names.ts'
import type { RunStatus } from '../run-record.ts'
import type { RunScope } from './run-scope.ts'

/** An input that a run waits for, as a store keeps it. Times are milliseconds since the epoch. */
export interface StoredInput {
  /** The run's id and a number, such as `<runId>.1`: the inputs of a run are numbered from 1. */
  inputId: string
  kind: InputKind
  /** The question. */
  message?: string
  /** JSON Schema of the answer's content. */
  schema?: unknown
  toolCallId?: string
  toolName?: string
  args?: unknown
  /** The path of member or step names that clients see. */
  source: readonly string[]
  /** The path of keys of what asked; unlike `source`, unique per call of a member. */
  path: readonly string[]
  expiresAt: number
  /**
   * A public key, if the caller gave the run a key of its own, or if the input is `auth`, in stores that several processes share: other
   * processes encrypt their answers to it, since they cannot redact the caller's key. A JWK as JSON.
   */
  sealKey?: string
  /** Null while it is pending. */
  answer: InputOutcome | null
}

/** An input in a list: with its arguments if they are short, else with a preview of them. */
export interface InputSummary extends Omit<StoredInput, 'args' | 'path'> {
  /** Undefined if their JSON is longer than `MAX_LISTED_ARGS`. */
  args?: unknown
  /** The beginning of the JSON of longer ones. */
  argsPreview?: string
  /** Size of their JSON in bytes. */
  argsBytes: number
}

/** Pending inputs of a run: the first ones to expire, and their total number. */
export interface PendingSummary {
  readonly first: readonly InputSummary[]
  readonly count: number
}

/** The run of an input. */
export interface InputRun extends RunnableKey {
  readonly runId: string
  readonly owner: string
  readonly createdAt: number
  readonly status: RunStatus
}

/** An input and its run. */
export interface FoundInput {
  run: InputRun
  input: InputSummary
}

/** Selects pending inputs; those of the newest run come first, within a run those that expire first. */
export interface InputQuery {
  kinds: readonly InputKind[]
  scope?: RunScope
  owner?: string
  runId?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatInputCursor` of an input on it. */
  cursor?: string
}

/** One page of pending inputs; `nextCursor` is null on the last page. */
export interface InputPage {
  inputs: FoundInput[]
  nextCursor: string | null
}
