import type { Awaitable, RunContext } from '@svc/registry'
import type { Retry } from '../models/retry-model.ts'
import type { DeclaredOutput } from '../runnables/output-of.ts'
import type { Schema, SchemaOutput } from '../schemas/schema.ts'

/** What there is of a run of a workflow at one of its steps. */
export interface FlowView<Input, Steps, Previous> {
  readonly input: Input
  /** The outputs of the steps so far, by their names. */
  readonly steps: Readonly<Steps>
  /** The output of the step before; at the beginning the input, in a map its item. */
  readonly previous: Previous
  /** The round of the loop or the place in the map that the step is in, from 0. */
  readonly index: number
}

/** What the function of a step is given. */
export interface StepScope<Input, Steps, Previous> extends FlowView<Input, Steps, Previous> {
  /** Aborts when the run ends, or the step's time is over. */
  readonly signal: AbortSignal
  /** 1, and more when it is tried again. */
  readonly attempt: number
  /** The same over every attempt, also after a restart: hand it to what must not happen twice. */
  readonly idempotencyKey: string
  readonly context: RunContext
}

/** The function of a step. What it gives is kept as JSON. */
export type StepFunction<Input, Steps, Previous, Output> = (
  scope: StepScope<Input, Steps, Previous>
) => Awaitable<Output>

/** How a step is tried. Times are milliseconds. */
export interface StepOptions {
  /** Default: one attempt; then 500 as the longest first wait, which doubles, and 30,000 at most. */
  retry?: Partial<Retry>
  /** Of one attempt; default: none. */
  timeout?: number
}

/** How a runnable is used as a step. */
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

/** How a loop ends. */
export interface LoopOptions<Input, Steps, Output> {
  /** Asked after every round, where `previous` is what the round gave; true ends the loop. */
  until: (view: FlowView<Input, Steps, Output>) => Awaitable<boolean>
  /** Default 100; one more fails the run. */
  maxRounds?: number
}

/** How a map goes on. */
export interface MapOptions {
  /** Items at once; default 4. */
  concurrency?: number
}

/** A wait for some time. */
export interface SleepOptions<Input, Steps, Previous> {
  /** Milliseconds. They count from when the step is first reached, also over a restart. */
  sleep: number | ((view: FlowView<Input, Steps, Previous>) => Awaitable<number>)
}

/** A wait for a human. */
export interface ApprovalWaitOptions<Input, Steps, Previous> {
  approval: {
    /** What is to be approved, for whoever answers: the `args` of the approval. */
    args?: (view: FlowView<Input, Steps, Previous>) => unknown
    /** The `toolName` of the approval; default: the name of the step. */
    toolName?: string
    /** Milliseconds until it counts as denied; default 300,000. */
    timeout?: number
    /** What a denial does: `fail` the run (the default), or `continue` with `approved: false` as the step's output. */
    denied?: 'fail' | 'continue'
  }
}
