import { requireName, requireOptions, type Awaitable, type RunContext } from '@svc/contract'
import { nameOf, prefixBadOptions, prefixErrors } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { TIMEOUT_DEFAULTS, type Timeouts } from '../guards/guard.ts'
import { planLoop, type LoopPlan } from '../loop/loop-plan.ts'
import type { Memory } from '../memory/memory.ts'
import { createOutputFormat } from '../output/output-format.ts'
import { requireSandbox, resolveSandbox } from '../sandbox/resolve-sandbox.ts'
import { createSkillSet, type SkillSet } from '../skills/skill-set.ts'
import { createToolSet, type AgentTool, type ToolSet } from '../tools/tool-set.ts'
import { AgentOptionsSchema, type AgentOptions } from './agent-options.ts'

/** What the runs of an agent have in common, made once from its options. */
export interface AgentPlan extends LoopPlan {
  readonly name: string
  /** Undefined where `tools` is a function of the run. */
  readonly tools: ToolSet | undefined
  /** The tools of one run. */
  readonly toolsOf: (context: RunContext) => Awaitable<ToolSet>
  readonly memory: Memory | undefined
  readonly skills: SkillSet | undefined
  readonly timeout: Timeouts
  /** True if its runs may be resumed by another process. */
  readonly durable: boolean
}

/**
 * Checks the options of an agent and plans its runs.
 * @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SKILL, RUN_ERR_BAD_SANDBOX, REG_ERR_BAD_NAME, which name the agent
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
    durable: options.durable ?? true,
    timeout: { ...TIMEOUT_DEFAULTS, ...options.timeout }
  }
}
