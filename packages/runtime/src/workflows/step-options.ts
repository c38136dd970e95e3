import type { Awaitable, RunContext } from '@svc/contract'
import type { Retry } from '../models/retry-model.ts'
import type { DeclaredOutput } from '../runnables/base-runnable.ts'
import type { Schema, SchemaOutput } from '../schemas/schema.ts'

/** The state of a workflow's run, as one of its steps sees it. */
export interface FlowView<Input, Steps, Previous> {
  readonly input: Input
  /** The outputs of the earlier steps by name. */
  readonly steps: Readonly<Steps>
  /** The output of the previous step; the input in the first one, the item in a map. */
  readonly previous: Previous
  /** The round of the enclosing loop, or the index in the enclosing map; from 0. */
  readonly index: number
}

/** The argument of a step's function. */
export interface StepScope<Input, Steps, Previous> extends FlowView<Input, Steps, Previous> {
  /** Aborts when the run ends or the step times out. */
  readonly signal: AbortSignal
  /** 1, and higher for retries. */
  readonly attempt: number
  /** Equal for every attempt, even after a restart: pass it on where an effect must not happen twice. */
  readonly idempotencyKey: string
  readonly context: RunContext
}

/** The function of a step; its output is stored as JSON. */
export type StepFunction<Input, Steps, Previous, Output> = (
  scope: StepScope<Input, Steps, Previous>
) => Awaitable<Output>

/** Retries and the time-out of a step, in milliseconds. */
export interface StepOptions {
  /** Default: one attempt. The first wait is at most 500; it doubles up to 30,000. */
  retry?: Partial<Retry>
  /** Per attempt; default: none. */
  timeout?: number
}

/** The options of a step that is a runnable. */
export interface RunnableStepOptions<Input, Steps, Previous, Output extends Schema> extends StepOptions {
  /** The earlier step whose output is its input; default: the step before. */
  from?: keyof Steps & string
  /** Makes its input. */
  input?: (view: FlowView<Input, Steps, Previous>) => unknown
  /** The schema of its structured answer, which is then the step's output; default: the `output` it declares itself. */
  output?: Output
}

/** The output of a runnable's step: its structured answer where the step or the runnable has an `output`, else its text. */
export type RunnableOutput<Output extends Schema, R = unknown> = Schema extends Output
  ? unknown extends DeclaredOutput<R>
    ? string
    : DeclaredOutput<R>
  : SchemaOutput<Output>

/** The end of a loop. */
export interface LoopOptions<Input, Steps, Output> {
  /** Called after each round with its output as `previous`; true ends the loop. */
  until: (view: FlowView<Input, Steps, Output>) => Awaitable<boolean>
  /** Default 100; the run fails beyond it. */
  maxRounds?: number
}

/** The options of a map. */
export interface MapOptions {
  /** Items in parallel; default 4. */
  concurrency?: number
}

/** A timed wait. */
export interface SleepOptions<Input, Steps, Previous> {
  /** Milliseconds since the step was first reached, even across a restart. */
  sleep: number | ((view: FlowView<Input, Steps, Previous>) => Awaitable<number>)
}

/** A wait for a human's approval. */
export interface ApprovalWaitOptions<Input, Steps, Previous> {
  approval: {
    /** Returns the `args` that the approver sees. */
    args?: (view: FlowView<Input, Steps, Previous>) => unknown
    /** The `toolName` of the approval; default: the name of the step. */
    toolName?: string
    /** Milliseconds until an unanswered approval counts as denied; default 300,000. */
    timeout?: number
    /** The effect of a denial: `fail` the run (the default), or `continue` with `approved: false` as the step's output. */
    denied?: 'fail' | 'continue'
  }
}
