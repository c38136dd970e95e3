import { defineRunnable } from '@svc/registry'
import { type ApprovalOutcome, type Awaitable, type Runnable, type RunnableDefinition } from '@svc/contract'
import { prefixErrors } from '../checks/option-errors.ts'
import { compileSchema, type Validate } from '../schemas/compile-schema.ts'
import type { Schema } from '../schemas/schema.ts'
import { RUN_ERR_BAD_WORKFLOW } from '../errors.ts'
import type { AnyFlow, FlowNode } from './flow-node.ts'
import type {
  ApprovalWaitOptions,
  FlowView,
  LoopOptions,
  MapOptions,
  RunnableOutput,
  RunnableStepOptions,
  SleepOptions,
  StepFunction,
  StepOptions
} from './step-options.ts'

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
