import type { TSchema } from '@sinclair/typebox'
import type { RunContext, RunInput, RunnableMetadata, YieldedPart } from '@svc/contract'
import { BaseRunnable, type OutputSchema } from '../runnables/base-runnable.ts'
import type { RunOptions } from '../runnables/run-options.ts'
import type { RunStream, TypedRunResult } from '../runnables/run-stream.ts'
import type { Schema, SchemaOutput } from '../schemas/compile-schema.ts'
import { planWorkflow, type WorkflowPlan } from './plan-workflow.ts'
import type { GivenInput, LastOutput, WorkflowOptions } from './workflow-options.ts'
import { runWorkflow } from './workflow-run.ts'

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

  /** @throws RUN_ERR_BAD_WORKFLOW, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN */
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
