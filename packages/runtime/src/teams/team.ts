import type { TSchema } from '@sinclair/typebox'
import {
  collectStream,
  createContext,
  globalRegistry,
  type Registry,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableMetadata,
  type RunResult,
  type YieldedPart
} from '@svc/registry'
import { reportRun } from '../children/report-run.ts'
import { coordinate } from './modes/coordinate.ts'
import { parallel } from './modes/parallel.ts'
import { route } from './modes/route.ts'
import { sequence } from './modes/sequence.ts'
import { planTeam, type TeamPlan } from './plan-team.ts'
import type { TeamOptions } from './team-options.ts'
import { TeamRun } from './team-run.ts'

/** Runnables that work together, served under one name on every surface from the moment it is made. */
export class Team implements Runnable {
  readonly #plan: TeamPlan
  readonly #description: string | undefined
  readonly #modelId: string | undefined

  /** @throws RUN_ERR_BAD_TEAM, RUN_ERR_BAD_MODEL, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN */
  constructor(options: TeamOptions) {
    this.#plan = planTeam(options)
    const { description, model, register = true, registry = globalRegistry, replace } = options
    this.#description = description
    this.#modelId = typeof model === 'object' ? model.modelId : undefined
    if (register) (registry satisfies Registry).add(this, { replace })
  }

  get kind(): 'team' {
    return 'team'
  }

  get name(): string {
    return this.#plan.name
  }

  get description(): string | undefined {
    return this.#description
  }

  /** In sequence that of the first member, where it takes no message. */
  get inputSchema(): TSchema | undefined {
    return this.#plan.mode === 'sequence' ? this.#plan.members[0]!.inputSchema : undefined
  }

  /**
   * Runs the team; gives its parts while it runs, those of its members with `source`. Without a context it is a run of
   * its own. A stream that is left early ends its run, and its members.
   * @throws RUN_ERR_BAD_CONTEXT, RUN_ERR_BAD_INPUT, RUN_ERR_NO_ROUTE, RUN_ERR_MODEL_…, the time-outs, what a member throws that is needed, or why the
   * context's signal aborted
   */
  stream(input: RunInput, context: RunContext = createContext()): AsyncGenerator<YieldedPart, void> {
    return reportRun(this, context, runTeam(this.#plan, input, context))
  }

  /** The same, collected. @throws what `stream` throws */
  run(input: RunInput, context: RunContext = createContext()): Promise<RunResult> {
    return collectStream(this, this.stream(input, context), context)
  }

  /** What may be told of it: never its instructions or keys. */
  describe(): RunnableMetadata {
    const { inputSchema } = this
    return {
      kind: 'team',
      name: this.name,
      ...(this.#description !== undefined && { description: this.#description }),
      ...(this.#modelId !== undefined && { model: this.#modelId }),
      members: this.#plan.members.map(({ name }) => name),
      ...(inputSchema && { input: JSON.parse(JSON.stringify(inputSchema)) as unknown })
    }
  }
}

async function* runTeam(
  plan: TeamPlan,
  input: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart, void> {
  const run = new TeamRun(plan, context)
  try {
    run.guard.check()
    if (plan.mode === 'coordinate') yield* coordinate(run, plan.leader!, input)
    else if (plan.mode === 'route') yield* route(run, plan.leader!, input)
    else if (plan.mode === 'parallel') yield* parallel(run, input)
    else yield* sequence(run, input)
  } finally {
    run.close()
  }
}
