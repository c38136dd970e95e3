import { requireName, requireOptions } from '@svc/registry/kit'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { hasMethods, nameOf, prefixErrors } from '../checks/option-errors.ts'
import { resolveModel } from '../models/model.ts'
import { AGENT_DEFAULTS, AgentOptionsSchema } from '../options.ts'
import { requireSandbox, resolveSandbox } from '../sandbox/resolve-sandbox.ts'
import { createOutputFormat } from '../output/output-format.ts'
import { createSkillSet } from '../skills/skill-set.ts'
import { createToolSet } from '../tools/tool-set.ts'
import type { AgentOptions } from './agent-options.ts'
import type { AgentPlan } from './agent-plan.ts'

/**
 * Checks the options of an agent, and makes of them once what each of its runs needs.
 * @throws RUN_ERR_BAD_AGENT, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_SKILL, RUN_ERR_BAD_SANDBOX, REG_ERR_BAD_NAME, which name the agent
 */
export function planAgent(options: AgentOptions): AgentPlan {
  return prefixErrors(nameOf('agent', options), () => toPlan(options))
}

function toPlan(options: AgentOptions): AgentPlan {
  requireOptions(AgentOptionsSchema, options, RUN_ERR_BAD_AGENT)
  const { instructions, approval = 'never', sandbox, sessions, registry, settings, memory } = options
  requireThat(
    instructions === undefined || typeof instructions === 'string' || typeof instructions === 'function',
    'instructions: neither a string nor a function'
  )
  requireThat(
    approval === 'always' || approval === 'never' || typeof approval === 'function',
    "approval: neither 'always', 'never' nor a function"
  )
  requireThat(
    sessions === undefined || hasMethods(sessions, ['lock', 'load', 'append']),
    'sessions: no session store, an object with `lock`, `load` and `append`'
  )
  requireThat(
    memory === undefined || hasMethods(memory, ['retrieve', 'store']),
    'memory: no memory; give recallMemory(), windowMemory(), summaryMemory(…), or an object with `retrieve` and `store`'
  )
  requireThat(
    registry === undefined || hasMethods(registry, ['add', 'get']),
    'registry: no registry; createRegistry() makes one'
  )
  requireThat(
    options.provider === undefined || typeof options.model === 'function',
    'provider: only a model function gets the key of a provider'
  )
  requireSandbox(sandbox)
  for (const tool of options.tools ?? []) resolveSandbox(tool.sandbox, sandbox)
  const name = requireName(options.name)
  const skills = options.skills && createSkillSet(options.skills, name)
  const output = options.output === undefined ? undefined : createOutputFormat(options.output)
  const tools = createToolSet([...(options.tools ?? []), ...(skills ? [skills.tool] : [])])
  return {
    name,
    instructions,
    resolveModel: resolveModel(options.model, options.provider),
    callOptions: {
      ...settings,
      ...(tools.forModel && { tools: tools.forModel }),
      ...(output && { responseFormat: output.responseFormat })
    },
    tools,
    approval,
    approvalTimeout: options.approvalTimeout,
    sandbox,
    sessions,
    history: { ...AGENT_DEFAULTS.history, ...options.history },
    memory,
    skills,
    output,
    urls: { ...AGENT_DEFAULTS.urls, ...options.urls },
    retry: { ...AGENT_DEFAULTS.retry, ...options.retry },
    timeout: { ...AGENT_DEFAULTS.timeout, ...options.timeout },
    maxSteps: options.maxSteps ?? AGENT_DEFAULTS.maxSteps
  }
}

function requireThat(condition: boolean, fault: string): void {
  if (!condition) throw new RUN_ERR_BAD_AGENT(fault)
}
