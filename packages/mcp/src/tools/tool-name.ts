import type { Runnable, RunnableKind } from '@svc/registry'
import { RUNNABLE_KINDS } from '@svc/registry'
import type { Exposed } from '@svc/registry/kit'

/** What clients accept as the name of a tool. */
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/

/** The name of the tool that runs a runnable; undefined if MCP has no such names: `writer`, `team.newsroom`. */
export function toToolName({ kind, name }: Pick<Runnable, 'kind' | 'name'>): string | undefined {
  const tool = kind === 'agent' ? name : `${kind}.${name}`
  return TOOL_NAME.test(tool) ? tool : undefined
}

/** The runnable of a tool; an agent whose name looks like that of a team comes first. */
export function findRunnable(exposed: Pick<Exposed, 'get'>, tool: string): Runnable | undefined {
  if (!TOOL_NAME.test(tool)) return undefined
  const agent = exposed.get('agent', tool)
  if (agent !== undefined) return agent
  const dot = tool.indexOf('.')
  const kind = tool.slice(0, Math.max(dot, 0)) as RunnableKind
  if (kind === 'agent' || !RUNNABLE_KINDS.includes(kind) || dot + 1 === tool.length) return undefined
  return exposed.get(kind, tool.slice(dot + 1))
}
