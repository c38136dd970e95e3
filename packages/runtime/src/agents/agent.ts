import {
  collectStream,
  createContext,
  globalRegistry,
  type Registry,
  type Runnable,
  type RunContext,
  type RunInput,
  type RunnableMetadata,
  type RunResult,
  type YieldedPart
} from '@svc/registry'
import { reportRun } from '../children/report-run.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import type { Skill } from '../skills/skill.ts'
import { runAgent } from './agent-loop.ts'
import type { AgentOptions } from './agent-options.ts'
import type { AgentPlan } from './agent-plan.ts'
import { planAgent } from './plan-agent.ts'

/** A model with instructions and tools, served under its name on every surface from the moment it is made. */
export class Agent implements Runnable {
  readonly #plan: AgentPlan
  readonly #modelId: string | undefined
  readonly #description: string | undefined

  /** @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, REG_ERR_BAD_NAME, REG_ERR_NAME_TAKEN */
  constructor(options: AgentOptions) {
    this.#plan = planAgent(options)
    this.#description = options.description
    this.#modelId = typeof options.model === 'function' ? undefined : options.model.modelId
    const { register = true, registry = globalRegistry, replace } = options
    if (register) (registry satisfies Registry).add(this, { replace })
  }

  get kind(): 'agent' {
    return 'agent'
  }

  get name(): string {
    return this.#plan.name
  }

  get description(): string | undefined {
    return this.#description
  }

  /**
   * Runs the agent; gives its parts while it runs. Without a context it is a run of its own, with sessions in memory.
   * A stream that is left early ends its run.
   * @throws RUN_ERR_BAD_CONTEXT, RUN_ERR_BAD_INPUT, RUN_ERR_MODEL_…, the time-outs, RUN_ERR_STORE, or why the context's signal aborted
   */
  stream(input: RunInput, context: RunContext = createContext()): AsyncGenerator<YieldedPart, void> {
    return reportRun(this, context, runAgent(this.#plan, input, context))
  }

  /** The same, collected. @throws what `stream` throws */
  run(input: RunInput, context: RunContext = createContext()): Promise<RunResult> {
    return collectStream(this, this.stream(input, context), context)
  }

  /**
   * Adds a skill, e.g. one that was learned, for the runs that begin from now on; replaces its namesake.
   * @throws RUN_ERR_BAD_SKILL, RUN_ERR_BAD_AGENT when the agent was made without `skills`
   */
  addSkill(skill: Skill): void {
    const { skills } = this.#plan
    if (skills === undefined)
      throw new RUN_ERR_BAD_AGENT(`skills: "${this.name}" was made without; an empty list will do`)
    skills.add(skill)
  }

  /** What may be told of it: never its instructions or keys. */
  describe(): RunnableMetadata {
    const { tools, skills, output } = this.#plan
    const own = tools.forModel?.filter(({ name }) => skills === undefined || name !== skills.tool.name)
    return {
      kind: 'agent',
      name: this.name,
      ...(this.#description !== undefined && { description: this.#description }),
      ...(this.#modelId !== undefined && { model: this.#modelId }),
      ...(own?.length && {
        tools: own.map(({ name, description = '', inputSchema }) => ({
          name,
          description,
          input: inputSchema
        }))
      }),
      ...(skills && { skills: skills.list().map(({ name, description }) => ({ name, description })) }),
      ...(output && { output: output.schema })
    }
  }
}
