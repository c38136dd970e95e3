import type { TSchema } from '@sinclair/typebox'
import {
  collectStream,
  createContext,
  globalRegistry,
  requireInput,
  type Registry,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableMetadata,
  type RunResult,
  type YieldedPart
} from '@svc/registry'
import { reportRun } from '../children/report-run.ts'
import { planWorkflow, type WorkflowPlan } from './plan-workflow.ts'
import type { WorkflowOptions } from './workflow-options.ts'
import { runWorkflow } from './workflow-run.ts'

/** Steps in an order, served under one name on every surface from the moment it is made. It goes on after a restart. */
export class Workflow<S extends TSchema = TSchema> implements Runnable {
  readonly #plan: WorkflowPlan
  readonly #description: string | undefined

  /** @throws RUN_ERR_BAD_WORKFLOW, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN */
  constructor(options: WorkflowOptions<S>) {
    this.#plan = planWorkflow(options)
    const { description, register = true, registry = globalRegistry, replace } = options
    this.#description = description
    if (register) (registry satisfies Registry).add(this, { replace })
  }

  get kind(): 'workflow' {
    return 'workflow'
  }

  get name(): string {
    return this.#plan.name
  }

  get description(): string | undefined {
    return this.#description
  }

  get inputSchema(): TSchema | undefined {
    return this.#plan.inputSchema
  }

  get resumable(): true {
    return true
  }

  /**
   * Runs the workflow; gives the parts of its steps with `source`, and its own answer at the end. Without a context it is a
   * run of its own, with no journal. A stream that is left early ends its run.
   * @throws RUN_ERR_BAD_CONTEXT, RUN_ERR_BAD_INPUT, RUN_ERR_STEP_…, RUN_ERR_APPROVAL_DENIED, what a step throws, or why the context's signal aborted
   */
  stream(input: RunInput, context: RunContext = createContext()): AsyncGenerator<YieldedPart, void> {
    return reportRun(
      this,
      context,
      runWorkflow(this.#plan, () => requireInput(this, input), input, context)
    )
  }

  /** The same, collected. @throws what `stream` throws */
  run(input: RunInput, context: RunContext = createContext()): Promise<RunResult> {
    return collectStream(this, this.stream(input, context), context)
  }

  /** What may be told of it. */
  describe(): RunnableMetadata {
    const { steps, inputSchema } = this.#plan
    return {
      kind: 'workflow',
      name: this.name,
      ...(this.#description !== undefined && { description: this.#description }),
      steps: [...steps],
      ...(inputSchema && { input: JSON.parse(JSON.stringify(inputSchema)) as unknown })
    }
  }
}
