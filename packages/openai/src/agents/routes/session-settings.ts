import { RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS } from '@svc/contract/errors'
import type { Runnable } from '@svc/contract'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { toToolUse } from '../../wire/client-tools.ts'
import { toFormatInstructions } from '../../wire/response-format.ts'
import type { AgentFunction } from '../wire/agent-schemas.ts'
import type { AgentSettings } from '../wire/agent-objects.ts'
import type { AgentOverrides, GivenFunctionTool } from './request-schemas.ts'

/** What a session keeps of a request. */
export const KEPT = 'agent.instructions, agent.tools and agent.text'

const UNSERVED = ['compaction', 'experimental', 'multi_agent', 'reasoning', 'service_tier'] as const

/** Values that change nothing. */
function isDefault(value: unknown): boolean {
  if (value === undefined || value === null || value === false) return true
  if (value === 'auto' || value === 'default' || value === 'none' || value === 'medium') return true
  return typeof value === 'object' && Object.values(value).every(isDefault)
}

/** Refuses what is not served. @throws OPENAI_ERR_UNSUPPORTED */
export function requireServed(
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
  prefix = ''
): void {
  for (const name of names) if (!isDefault(given[name])) throw new OPENAI_ERR_UNSUPPORTED(`${prefix}${name}`)
}

/**
 * What a session keeps of what a client says of its agent. What it leaves out stays as it was; null removes.
 * @throws OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_BAD_REQUEST, RUN_ERR_CLIENT_TOOLS, RUN_ERR_CLIENT_INSTRUCTIONS
 */
export function toSettings(
  surface: Surface,
  agentId: string,
  runnable: Runnable,
  given: AgentOverrides,
  before: AgentSettings = {}
): AgentSettings {
  requireServed(given, UNSERVED, 'agent.')
  const { instructions, tools, text, model } = given
  if (model !== undefined && model !== agentId)
    throw new OPENAI_ERR_BAD_REQUEST('agent.model must be the id of the agent, or absent')
  requireServed({ ...text }, ['verbosity'], 'agent.text.')
  const format = text === undefined ? undefined : (text?.format ?? { type: 'text' })
  if (format !== undefined) toFormatInstructions(format, runnable, surface)
  if (instructions && !surface.clientInstructions) throw new RUN_ERR_CLIENT_INSTRUCTIONS()
  if (tools?.length && !surface.clientTools) throw new RUN_ERR_CLIENT_TOOLS()
  const kept = {
    instructions: instructions === undefined ? before.instructions : (instructions ?? undefined),
    tools: tools === undefined ? before.tools : toFunctions(tools ?? []),
    format: format === undefined ? before.format : toKeptFormat(format)
  }
  return Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined))
}

function toKeptFormat({ type, schema = {} }: { type: string; schema?: Record<string, unknown> }) {
  return type === 'json_schema' ? { type, schema } : undefined
}

function toFunctions(tools: readonly GivenFunctionTool[]): AgentFunction[] {
  for (const [at, tool] of tools.entries())
    requireServed(tool, ['async', 'defer_loading'], `agent.tools[${at}].`)
  const functions = toToolUse(tools, undefined).tools ?? []
  return functions.map(({ name, description, input }) => ({
    type: 'function',
    name,
    description: description ?? '',
    parameters: input as Record<string, unknown>,
    defer_loading: false
  }))
}
