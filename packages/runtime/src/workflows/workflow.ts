import type { TSchema } from '@sinclair/typebox'
import {
  formatFaults,
  type RunContext,
  type RunInput,
  type RunnableMetadata,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_BAD_INPUT, RUN_ERR_CANCELED } from '@svc/contract/errors'
import { requireInput } from '@svc/registry/engine'
import { awaiting, interleave, PartChannel, recordedAnswer, type Answer } from '../children/run-child.ts'
import { RUN_ERR_WORKFLOW_BAD_OUTPUT } from '../errors.ts'
import { RunEvents } from '../events/events.ts'
import { ChildGuard } from '../guards/guard.ts'
import { toJson } from '../json/json.ts'
import { enterRun } from '../middleware/enter-run.ts'
import { RunHooks, type HookedRun } from '../middleware/run-hooks.ts'
import { BaseRunnable, type OutputSchema, type RunOptions } from '../runnables/base-runnable.ts'
import type { RunStream, TypedRunResult } from '../runnables/run-stream.ts'
import type { Schema, SchemaOutput } from '../schemas/compile-schema.ts'
import type { Place } from './attempt.ts'
import type { AnyFlow, FlowNode } from './flow.ts'
import {
  planWorkflow,
  type GivenInput,
  type LastOutput,
  type WorkflowOptions,
  type WorkflowPlan
} from './plan-workflow.ts'
import { runBranch, runFunction, runLoop, runMap, runParallel, runRunnable, runWait } from './steps.ts'

type RunNode<N extends FlowNode> = (node: N, place: Place) => Promise<unknown>

const STEPS: { readonly [T in FlowNode['type']]: RunNode<Extract<FlowNode, { type: T }>> } = {
  function: runFunction,
  runnable: runRunnable,
  parallel: runParallel,
  branch: runBranch,
  loop: runLoop,
  map: runMap,
  wait: runWait
}

/** Runs the steps of a flow in sequence; returns the output of the last. */
async function runFlow(flow: AnyFlow, place: Place): Promise<unknown> {
  let { view } = place
  for (const node of flow.nodes) {
    place.signal.throwIfAborted()
    const run = STEPS[node.type] as RunNode<FlowNode>
    const output = await run(node, { ...place, view })
    const steps = { ...view.steps, [node.name]: output }
    view = { ...view, steps, previous: node.type === 'wait' ? view.previous : output }
  }
  return view.previous
}

/** Runs a workflow: yields the parts of its steps as they run, then the output of the last step as the answer. */
async function* runWorkflow(
  plan: WorkflowPlan,
  given: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart, void> {
  const guard = new ChildGuard(context.signal)
  const channel = new PartChannel()
  const events = new RunEvents(context, plan.name, 'workflow')
  try {
    guard.signal.throwIfAborted()
    const entered =
      plan.use.length > 0 || context.use !== undefined
        ? yield* enter(plan, given, { kind: 'workflow', name: plan.name, context, guard, events })
        : { input: given }
    if (entered === undefined) return
    const input = await readInput(plan, entered.input, guard)
    const start = {
      context,
      signal: guard.signal,
      emit: channel.put,
      run: runFlow,
      events,
      use: plan.use,
      view: { input, steps: {}, previous: input, index: 0 }
    }
    const work = () => guard.wait(runFlow(plan.flow, start))
    const output = yield* interleave(awaiting(work), channel)
    yield* recordedAnswer(context.journal, toAnswer(await checkOutput(plan, output, guard)))
    yield { type: 'finish', finishReason: 'stop' }
  } finally {
    // The run has ended, or its reader left: end all steps.
    const reason = new RUN_ERR_CANCELED()
    guard.end(reason)
    guard.close()
    channel.close(reason)
  }
}

async function* enter(
  { input, use }: WorkflowPlan,
  given: RunInput,
  run: HookedRun
): AsyncGenerator<YieldedPart, { readonly input: RunInput } | undefined> {
  const hooks = new RunHooks(run, use)
  if (!hooks.checksMessages) return { input: given }
  const accepts = (changed: RunInput) => requireInput({ inputSchema: input?.schema }, changed)
  accepts(given)
  return yield* enterRun(run, hooks, { input: given, alone: true, accepts })
}

async function readInput({ input }: WorkflowPlan, given: RunInput, guard: ChildGuard): Promise<RunInput> {
  requireInput({ inputSchema: input?.schema }, given)
  if (input?.validate === undefined) return given
  const validated = await guard.wait(Promise.resolve(input.validate(given)))
  if (validated.fault === undefined) return validated.value
  const errors = (validated.faults ?? []).map(({ path, message }) => ({
    path: path === '' ? 'input' : `input/${path}`,
    message
  }))
  throw Object.assign(new RUN_ERR_BAD_INPUT(formatFaults(errors)), { errors })
}

async function checkOutput({ output }: WorkflowPlan, last: unknown, guard: ChildGuard): Promise<unknown> {
  if (output === undefined) return last
  const validated = await guard.wait(Promise.resolve(output.validate(last)))
  if (validated.fault !== undefined) throw new RUN_ERR_WORKFLOW_BAD_OUTPUT(validated.fault)
  const { value } = validated
  // A transform may yield anything; logs take JSON.
  if (value !== undefined)
    toJson(value, (why, cause) => Object.assign(new RUN_ERR_WORKFLOW_BAD_OUTPUT(why), { cause }))
  return value
}

/** Converts an output to an answer: a text, or a value with its JSON as the text. */
function toAnswer(output: unknown): Answer {
  if (output === undefined || output === null) return { text: '', structured: null }
  if (typeof output === 'string') return { text: output, structured: null }
  return { text: JSON.stringify(output), structured: output }
}

/** The structured answer of a workflow: its last output, unless that is a text. */
export type WorkflowStructured<Output extends Schema, Last> = Exclude<
  Schema extends Output ? Last : SchemaOutput<Output>,
  string | null | undefined
>

/** Steps in an order, served under one name on every surface from the moment it is made. It resumes after a restart. */
export class Workflow<
  Input extends Schema = Schema,
  Output extends Schema = Schema,
  Last extends LastOutput<Output> = LastOutput<Output>
> extends BaseRunnable<SchemaOutput<Output>, WorkflowStructured<Output, Last>> {
  readonly #plan: WorkflowPlan

  /** @throws RUN_ERR_BAD_WORKFLOW, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN */
  constructor(options: WorkflowOptions<Input, Output, Last>) {
    const plan = planWorkflow(options)
    super(options, plan.name)
    this.#plan = plan
    this.join(options)
  }

  get kind(): 'workflow' {
    return 'workflow'
  }

  override get inputSchema(): TSchema | undefined {
    return this.#plan.input?.schema
  }

  override get outputSchema(): OutputSchema<SchemaOutput<Output>> | undefined {
    return this.#plan.output?.schema
  }

  get resumable(): true {
    return true
  }

  override stream(
    input: GivenInput<Input>,
    options?: RunOptions | RunContext
  ): RunStream<WorkflowStructured<Output, Last>> {
    return super.stream(input, options)
  }

  override run(
    input: GivenInput<Input>,
    options?: RunOptions | RunContext
  ): Promise<TypedRunResult<WorkflowStructured<Output, Last>>> {
    return super.run(input, options)
  }

  protected override execute(input: RunInput, context: RunContext): AsyncGenerator<YieldedPart, void> {
    return runWorkflow(this.#plan, input, context)
  }

  protected override details(): Partial<RunnableMetadata> {
    return { steps: [...this.#plan.steps] }
  }
}
