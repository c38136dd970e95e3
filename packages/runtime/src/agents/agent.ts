import { Type, type TSchema } from '@sinclair/typebox'
import {
  defined,
  millisecondsSchema,
  requireName,
  requireOptions,
  ToolChoiceSchema,
  WhenBusySchema,
  type Awaitable,
  type PartSink,
  type PushedParts,
  type RunContext,
  type RunInput,
  type RunnableMetadata,
  type ToolCall,
  type ToolChoice,
  type WhenBusy,
  type YieldedPart
} from '@svc/contract'
import { requireInput } from '@svc/registry/engine'
import type { ApprovalPolicy } from '../approvals/approval-manager.ts'
import { nameOf, prefixBadOptions, prefixErrors } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { RunEvents } from '../events/events.ts'
import { RunGuard, TIMEOUT_DEFAULTS, type Timeouts } from '../guards/guard.ts'
import { beginLoop, converse, createTurn, type Conversation, type LoopStart } from '../loop/converse.ts'
import type { LoopRun, ModelLoop } from '../loop/model-loop.ts'
import { planLoop, type LoopPlan } from '../loop/loop-plan.ts'
import { functionSchema, MODEL_OPTIONS, optional, strict, type ModelOptions } from '../loop/model-options.ts'
import type { PrepareStep, StopCondition } from '../sessions/to-prompt.ts'
import { enterRun } from '../middleware/enter-run.ts'
import {
  planMiddleware,
  UseSchema,
  type Middleware,
  type PlannedMiddleware
} from '../middleware/middleware.ts'
import { RunHooks } from '../middleware/run-hooks.ts'
import type { Memory } from '../memory/memory.ts'
import { RunMemory } from '../memory/run-memory.ts'
import { createOutputFormat } from '../output/output-format.ts'
import { readObjects, type ObjectSoFar } from '../output/read-objects.ts'
import {
  BASE_OPTIONS,
  BaseRunnable,
  type BaseOptions,
  type OutputSchema,
  type RunOptions
} from '../runnables/base-runnable.ts'
import { pushAll, PushedStream } from '../runnables/pushed-parts.ts'
import { requireSandbox, resolveSandbox, type SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Schema, SchemaOutput } from '../schemas/compile-schema.ts'
import { askedIn, isContinued, MESSAGE, questionOf, type Turn } from '../sessions/turn.ts'
import { createSkillSet, type Skill, type SkillSet } from '../skills/skill-set.ts'
import { createToolSet, type AgentTool, type ToolSet } from '../tools/tool-set.ts'
import type { ToolCallOf } from '../tools/typed-calls.ts'

/**
 * The parts of one run of an agent.
 * @param words the text of the input, if it is known only when the turn is saved
 */
export function runAgent(
  plan: AgentPlan,
  input: RunInput,
  context: RunContext,
  words?: Promise<string | undefined>
): AsyncGenerator<YieldedPart, void> & PushedParts {
  return new PushedStream((sink) => converse(new AgentRun(plan, input, context, words), sink))
}

/** One run of an agent: the turn begins with skills and memories, and the memory stores what was said. */
class AgentRun implements LoopRun, LoopStart, Conversation {
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  readonly hooks: RunHooks | undefined
  input: RunInput
  messages: LoopStart['messages']
  words: LoopStart['words']
  readonly remember: LoopStart['remember']
  readonly #plan: AgentPlan
  readonly #turn: Turn
  readonly #memory: RunMemory | undefined

  constructor(plan: AgentPlan, input: RunInput, context: RunContext, words: LoopStart['words']) {
    const { name, memory, use } = plan
    this.#plan = plan
    this.name = name
    this.context = context
    this.input = input
    this.words = words
    this.events = new RunEvents(context, name, 'agent')
    this.guard = new RunGuard(context, plan.timeout)
    if (use.length > 0 || context.use !== undefined) this.hooks = new RunHooks(this, use)
    if (memory !== undefined) {
      const remembering = (this.#memory = new RunMemory(memory, context, this.events, name))
      this.remember = (question, history) => remembering.retrieve(question, history, this.guard.signal)
    }
    this.#turn = createTurn(plan, this)
  }

  get kind(): 'agent' {
    return 'agent'
  }

  begin(sink: PartSink): Awaitable<ModelLoop | undefined> {
    const { hooks } = this
    return hooks?.checksMessages === true ? this.#enter(hooks, sink) : this.#begin()
  }

  #begin(): Promise<ModelLoop> {
    return beginLoop(this.#plan, this, this.#turn, this)
  }

  async #enter(hooks: RunHooks, sink: PartSink): Promise<ModelLoop | undefined> {
    const { context, guard, input } = this
    guard.check()
    if (!isContinued(input, context)) requireInput(MESSAGE, input)
    const turn = this.#turn
    await turn.lock()
    const asked = askedIn(input, context)
    if (asked === undefined) return this.#begin()
    const message = {
      input: asked,
      alone: false,
      accepts: (changed: RunInput) => requireInput(MESSAGE, changed)
    }
    const entered = await pushAll(enterRun(this, hooks, message, turn), sink)
    if (entered === undefined) return undefined
    if (entered.input !== asked) {
      this.input = entered.input
      this.words = undefined
      // It was the last message of the conversation that the caller keeps.
      if (input === undefined) this.messages = context.messages?.slice(0, -1)
    }
    return this.#begin()
  }

  tools(): Awaitable<ToolSet> {
    return this.#plan.toolsOf(this.context)
  }

  section(): string | undefined {
    return this.#plan.skills?.prompt()
  }

  answered(text: string): void {
    const { context, input } = this
    if (context.recordsInput) this.#memory?.store({ input: questionOf(input, context), text })
  }

  close(): void {
    this.guard.close()
    this.#turn.end()
  }
}

/** Returns the tools of one run, e.g. by the caller's scopes. */
export type ToolsFunction = (context: RunContext) => Awaitable<readonly AgentTool[]>

/** The options of an agent. Times are milliseconds. */
export interface AgentOptions<
  Output extends Schema = Schema,
  Tools extends readonly AgentTool[] = readonly AgentTool[]
>
  extends BaseOptions, ModelOptions {
  /** A list, by which `toolCalls` of results are typed, or a function of the run. */
  tools?: Tools | ToolsFunction
  /** Which tools the model may or must call, in every step; default `auto`. */
  toolChoice?: ToolChoice
  /** Stops the run after a step with tool calls; of several conditions one suffices. `maxSteps` holds beside them. */
  stopWhen?: StopCondition | readonly StopCondition[]
  /** Changes a step before its model call: model, instructions, messages, tools, tool choice. */
  prepareStep?: PrepareStep
  /** Which tool calls wait for an approval; default `never`. A tool's own `approval` overrides it. */
  approval?: ApprovalPolicy
  /** Until an unanswered approval counts as denied; default 300,000. A tool's own `approvalTimeout` overrides it. */
  approvalTimeout?: number
  /**
   * Runs code given as text to tools without a sandbox of their own; default: the shared one. With `required`, tools whose
   * sandbox the system does not confine are refused.
   */
  sandbox?: SandboxChoice
  /** What it remembers beyond its history; default: nothing. */
  memory?: Memory
  /** Instructions the model loads by name; see `loadSkills`. */
  skills?: readonly Skill[]
  /**
   * Whether its runs survive a crash of the service, unless they end when their client disconnects; default true. It takes stores
   * that survive.
   */
  durable?: boolean
  /** What happens to a message while another run has the turn of its session; default `queue`. Callers may choose another. */
  whenBusy?: WhenBusy
  /** Hooks around its runs, within those of the app and of the team or workflow that it is a part of. At most 32. */
  use?: readonly Middleware[]
  /** The schema of its answers. They are JSON then, and `structured` is the validated and transformed value. */
  output?: Output
}

export const AgentOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    ...MODEL_OPTIONS,
    tools: optional(Type.Union([Type.Array(Type.Any()), functionSchema])),
    toolChoice: optional(ToolChoiceSchema),
    stopWhen: optional(Type.Union([functionSchema, Type.Array(functionSchema)])),
    prepareStep: optional(functionSchema),
    approval: optional(Type.Union([Type.Literal('always'), Type.Literal('never'), functionSchema])),
    approvalTimeout: optional(millisecondsSchema('Until an approval counts as denied; default 300,000')),
    memory: optional(Type.Object({ retrieve: functionSchema, store: functionSchema })),
    skills: optional(Type.Array(Type.Any())),
    whenBusy: optional(WhenBusySchema),
    durable: optional(Type.Boolean()),
    use: optional(UseSchema),
    // Sandboxes and schemas have errors of their own.
    sandbox: optional(Type.Any()),
    output: optional(Type.Any())
  } satisfies Record<keyof AgentOptions, TSchema>,
  strict
)

/** What the runs of an agent have in common, made once from its options. */
export interface AgentPlan extends LoopPlan {
  readonly name: string
  /** Undefined where `tools` is a function of the run. */
  readonly tools: ToolSet | undefined
  /** The tools of one run. */
  readonly toolsOf: (context: RunContext) => Awaitable<ToolSet>
  readonly memory: Memory | undefined
  readonly skills: SkillSet | undefined
  readonly use: readonly PlannedMiddleware[]
  readonly timeout: Timeouts
  /** True if its runs may be resumed by another process. */
  readonly durable: boolean
}

/**
 * Checks the options of an agent and plans its runs.
 * @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SKILL, RUN_ERR_BAD_SANDBOX, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_NAME, which name the agent
 */
export function planAgent(options: AgentOptions): AgentPlan {
  return prefixErrors(nameOf('agent', options), () => toPlan(options))
}

function toPlan(options: AgentOptions): AgentPlan {
  requireOptions(AgentOptionsSchema, options, RUN_ERR_BAD_AGENT)
  const { tools = [], sandbox, stopWhen = [], toolChoice } = options
  requireSandbox(sandbox)
  const name = requireName(options.name)
  const skills = options.skills && createSkillSet(options.skills, name)
  const fixedTools = skills ? [skills.tool] : []
  const output = options.output === undefined ? undefined : createOutputFormat(options.output)
  const loop = planLoop(
    options,
    { ...options, output, fixedTools, stopWhen: typeof stopWhen === 'function' ? [stopWhen] : stopWhen },
    (fault) => new RUN_ERR_BAD_AGENT(fault)
  )
  const toSet = (list: readonly AgentTool[]): ToolSet => {
    if (!Array.isArray(list)) throw new RUN_ERR_BAD_AGENT('tools: the function returned no list')
    const set = createToolSet([...list, ...fixedTools])
    for (const tool of list) if (!('type' in tool)) resolveSandbox(tool.sandbox, sandbox)
    if (typeof toolChoice === 'object') set.only([toolChoice.toolName])
    return set
  }
  const set = typeof tools === 'function' ? undefined : toSet(tools)
  return {
    ...loop,
    name,
    tools: set,
    toolsOf: (context) =>
      set ??
      prefixBadOptions(nameOf('agent', options), async () =>
        toSet(await (tools as (run: RunContext) => Awaitable<AgentTool[]>)(context))
      ),
    memory: options.memory,
    skills,
    use: planMiddleware(options.use),
    durable: options.durable ?? true,
    timeout: { ...TIMEOUT_DEFAULTS, ...options.timeout }
  }
}

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

  /** @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_NAME, REG_ERR_NAME_TAKEN */
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

  get compacts(): boolean {
    return this.#plan.history.compact !== undefined
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

  /**
   * Runs it and yields its answer as it is written: `{ partial }` while that grows, at most every 50 ms, and `{ structured }` at the end,
   * unless the run ends without an answer. A step that is repeated begins anew. Leaving it early ends the run.
   * @throws when it is read: RUN_ERR_BAD_AGENT if the agent was made without `output`, and the errors of `stream`
   */
  async *objects(
    input: RunInput,
    options?: RunOptions | RunContext
  ): AsyncGenerator<ObjectSoFar<SchemaOutput<Output>>, void> {
    if (this.#plan.output === undefined)
      throw new RUN_ERR_BAD_AGENT(`output: "${this.name}" was made without, so its answers are texts`)
    yield* readObjects(this.stream(input, options))
  }

  protected override execute(input: RunInput, context: RunContext): AsyncGenerator<YieldedPart, void> {
    return runAgent(this.#plan, input, context)
  }

  protected override details(): Partial<RunnableMetadata> {
    const { tools, skills } = this.#plan
    const own = tools?.forModel?.filter(({ name }) => name !== skills?.tool.name)
    return {
      ...defined({ model: this.#modelId }),
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
