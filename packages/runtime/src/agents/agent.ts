import type {
  PartSink,
  RunContext,
  RunInput,
  RunnableMetadata,
  ToolCall,
  WhenBusy,
  YieldedPart
} from '@svc/contract'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { BaseRunnable, type OutputSchema } from '../runnables/base-runnable.ts'
import type { Schema, SchemaOutput } from '../schemas/compile-schema.ts'
import type { Skill } from '../skills/skill.ts'
import { createToolSet, type AgentTool } from '../tools/tool-set.ts'
import type { ToolCallOf } from '../tools/typed-calls.ts'
import { runAgent } from './run-agent.ts'
import type { AgentOptions } from './agent-options.ts'
import { planAgent, type AgentPlan } from './plan-agent.ts'

/**
 * A model with instructions and tools, served under its name on every surface from the moment it is made. `Output` is the
 * schema of its answers, `Tools` the list of its tools, `Call` their calls in results.
 */
export class Agent<
  out Output extends Schema = Schema,
  const Tools extends readonly AgentTool[] = readonly AgentTool[],
  out Call extends ToolCall = ToolCallOf<Tools>
> extends BaseRunnable<SchemaOutput<Output>, SchemaOutput<Output>, Call> {
  readonly #plan: AgentPlan
  readonly #modelId: string | undefined
  /** As in `AgentOptions`. */
  readonly whenBusy: WhenBusy | undefined

  /** @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, REG_ERR_BAD_NAME, REG_ERR_NAME_TAKEN */
  constructor(options: AgentOptions<Output, Tools>) {
    const plan = planAgent(options)
    super(options, plan.name)
    this.whenBusy = options.whenBusy
    this.#plan = plan
    this.#modelId = typeof options.model === 'function' ? undefined : options.model.modelId
    this.join(options)
  }

  get kind(): 'agent' {
    return 'agent'
  }

  get resumable(): boolean {
    return this.#plan.durable
  }

  get takesTurns(): boolean {
    return this.#plan.sessions === undefined
  }

  get steerable(): boolean {
    return true
  }

  override get outputSchema(): OutputSchema<SchemaOutput<Output>> | undefined {
    return this.#plan.output?.schema
  }

  override get toolNames(): readonly string[] {
    const { tools, fixedTools } = this.#plan
    return (tools ?? createToolSet(fixedTools)).names
  }

  override get toolsVary(): boolean {
    return this.#plan.tools === undefined
  }

  /**
   * Adds a skill, e.g. a learned one, for the runs that begin from now on; replaces its namesake.
   * @throws RUN_ERR_BAD_SKILL, RUN_ERR_BAD_AGENT if the agent was made without `skills`
   */
  addSkill(skill: Skill): void {
    const { skills } = this.#plan
    if (skills === undefined)
      throw new RUN_ERR_BAD_AGENT(`skills: "${this.name}" was made without; an empty list will do`)
    skills.add(skill)
  }

  protected override execute(
    input: RunInput,
    context: RunContext,
    sink?: PartSink
  ): AsyncGenerator<YieldedPart, void> {
    return runAgent(this.#plan, input, context, sink)
  }

  protected override details(): Partial<RunnableMetadata> {
    const { tools, skills } = this.#plan
    const own = tools?.forModel?.filter(({ name }) => name !== skills?.tool.name)
    return {
      ...(this.#modelId !== undefined && { model: this.#modelId }),
      ...(own?.length && {
        tools: own.map((tool) =>
          tool.type === 'provider'
            ? { name: tool.name, description: tool.id }
            : { name: tool.name, description: tool.description ?? '', input: tool.inputSchema }
        )
      }),
      ...(skills && { skills: skills.list().map(({ name, description }) => ({ name, description })) })
    }
  }
}
