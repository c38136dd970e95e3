import type { ApprovalOutcome, Awaitable, RunContext, Runnable, RunnableDefinition } from '@svc/contract'
import { defineRunnable } from '@svc/registry'
import { prefixErrors } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_WORKFLOW } from '../errors.ts'
import type { Retry } from '../models/call-report.ts'
import type { DeclaredOutput } from '../runnables/base-runnable.ts'
import { compileSchema, type Schema, type SchemaOutput, type Validate } from '../schemas/compile-schema.ts'

/** A name that no earlier step has; resolves to the message of the type error for a duplicate. */
type NewName<N extends string, Steps> = N extends keyof Steps ? `There is a step "${N}" already` : N
type With<Steps, N extends string, Output> = Steps & Readonly<Record<N, Output>>
/** The outputs of several flows by their names. */
type Outputs<Flows extends Record<string, AnyFlow>> = { [K in keyof Flows]: Flows[K]['previous'] }

/**
 * The steps of a workflow in order. Each method returns a new flow with one more step. `Steps` are the outputs by name,
 * `Previous` is the last one.
 */
export class Flow<in out Input, in out Steps, out Previous> {
  readonly nodes: readonly FlowNode[]
  declare readonly previous: Previous

  constructor(nodes: readonly FlowNode[] = []) {
    this.nodes = nodes
  }

  /** Adds a function. */
  step<N extends string, Output>(
    name: NewName<N, Steps>,
    work: StepFunction<Input, Steps, Previous, Output>,
    options?: StepOptions
  ): Flow<Input, With<Steps, N, Output>, Output>
  /** Adds a runnable: an agent, a team, another workflow, a remote agent. */
  step<N extends string, R extends Runnable | RunnableDefinition, Output extends Schema = Schema>(
    name: NewName<N, Steps>,
    runnable: R,
    options?: RunnableStepOptions<Input, Steps, Previous, Output>
  ): Flow<Input, With<Steps, N, RunnableOutput<Output, R>>, RunnableOutput<Output, R>>
  step(name: string, work: unknown, options: object = {}): AnyFlow {
    if (typeof work === 'function') return this.#with({ type: 'function', name, work, options } as FlowNode)
    const runnable = prefixErrors(`step "${name}"`, () => defineRunnable(work as Runnable))
    const validate = compileOutput(name, (options as { output?: Schema } | null)?.output)
    return this.#with({ type: 'runnable', name, runnable, validate, options })
  }

  /** Runs several flows in parallel; the output has theirs by name. The first failure ends the others. */
  parallel<N extends string, Flows extends Record<string, AnyFlow>>(
    name: NewName<N, Steps>,
    build: (flow: Flow<Input, Steps, Previous>) => Flows
  ): Flow<Input, With<Steps, N, Outputs<Flows>>, Outputs<Flows>> {
    return this.#with({ type: 'parallel', name, flows: build(new Flow()) })
  }

  /** Runs one of several flows, whose output is the output. */
  branch<N extends string, Flows extends Record<string, AnyFlow>>(
    name: NewName<N, Steps>,
    choose: (view: FlowView<Input, Steps, Previous>) => Awaitable<NoInfer<keyof Flows>>,
    build: (flow: Flow<Input, Steps, Previous>) => Flows
  ): Flow<Input, With<Steps, N, Outputs<Flows>[keyof Flows]>, Outputs<Flows>[keyof Flows]> {
    return this.#with({ type: 'branch', name, choose, flows: build(new Flow()) } as FlowNode)
  }

  /** Repeats a flow, each round on the output of the previous one; the last round's output is the output. */
  loop<N extends string, Inner, Output extends Previous>(
    name: NewName<N, Steps>,
    build: (flow: Flow<Input, Steps, Previous>) => Flow<Input, Inner, Output>,
    options: LoopOptions<Input, Steps, Output>
  ): Flow<Input, With<Steps, N, Output>, Output> {
    return this.#with({ type: 'loop', name, flow: build(new Flow()), options } as FlowNode)
  }

  /** Runs a flow per item, several in parallel; the output has theirs in the order of the items. */
  map<N extends string, Item, Inner, Output>(
    name: NewName<N, Steps>,
    items: (view: FlowView<Input, Steps, Previous>) => Awaitable<readonly Item[]>,
    build: (flow: Flow<Input, Steps, Item>) => Flow<Input, Inner, Output>,
    options: MapOptions = {}
  ): Flow<Input, With<Steps, N, Output[]>, Output[]> {
    return this.#with({ type: 'map', name, items, flow: build(new Flow()), options } as FlowNode)
  }

  /** Waits for an approval, whose answer is the output under its name; `previous` is unchanged. */
  wait<N extends string>(
    name: NewName<N, Steps>,
    options: ApprovalWaitOptions<Input, Steps, Previous>
  ): Flow<Input, With<Steps, N, ApprovalOutcome>, Previous>
  /** Waits for some time; `previous` is unchanged. */
  wait<N extends string>(
    name: NewName<N, Steps>,
    options: SleepOptions<Input, Steps, Previous>
  ): Flow<Input, Steps, Previous>
  wait(name: string, options: unknown): AnyFlow {
    return this.#with({ type: 'wait', name, options } as FlowNode)
  }

  #with(node: FlowNode): AnyFlow {
    return new Flow([...this.nodes, node])
  }
}

function compileOutput(name: string, output: Schema | undefined): Validate | undefined {
  const toError = (fault: string) => new RUN_ERR_BAD_WORKFLOW(`${name}/output ${fault}`)
  return output && compileSchema(output, 'the output', toError).validate
}

/** A view of any types. */
export type AnyView = FlowView<unknown, Record<string, unknown>, unknown>
/** A flow of any types. */
// oxlint-disable-next-line typescript/no-explicit-any -- only the builder needs the types
export type AnyFlow = Flow<any, any, any>

/** One step of a workflow, ready to run. */
export type FlowNode = { readonly name: string } & (
  | {
      readonly type: 'function'
      readonly work: StepFunction<unknown, Record<string, unknown>, unknown, unknown>
      readonly options: StepOptions
    }
  | {
      readonly type: 'runnable'
      readonly runnable: Runnable
      /** Of the step's own `output`. */
      readonly validate: Validate | undefined
      readonly options: RunnableStepOptions<unknown, Record<string, unknown>, unknown, Schema>
    }
  | { readonly type: 'parallel'; readonly flows: Readonly<Record<string, AnyFlow>> }
  | {
      readonly type: 'branch'
      readonly choose: (view: AnyView) => unknown
      readonly flows: Readonly<Record<string, AnyFlow>>
    }
  | {
      readonly type: 'loop'
      readonly flow: AnyFlow
      readonly options: LoopOptions<unknown, Record<string, unknown>, unknown>
    }
  | {
      readonly type: 'map'
      readonly items: (view: AnyView) => unknown
      readonly flow: AnyFlow
      readonly options: MapOptions
    }
  | {
      readonly type: 'wait'
      readonly options:
        | SleepOptions<unknown, Record<string, unknown>, unknown>
        | ApprovalWaitOptions<unknown, Record<string, unknown>, unknown>
    }
)

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
