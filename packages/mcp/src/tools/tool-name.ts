import { RUNNABLE_KINDS, type Runnable, type RunnableKind } from '@svc/contract'
import type { Exposed } from '@svc/surface'
import { isHashed, toClientName } from '../protocol/client-name.ts'

type Named = Pick<Runnable, 'kind' | 'name'>

/** Kinds whose name is a part of the name of the tool. */
const PREFIXED: readonly RunnableKind[] = RUNNABLE_KINDS.filter((kind) => kind !== 'agent')

/** The name of the tool that runs a runnable: `writer`, `team_newsroom`. */
export function toToolName({ kind, name }: Named): string {
  if (kind !== 'agent') return toClientName(`${kind}_${name}`, true, [kind, name])
  const isClear = !PREFIXED.some((prefix) => name.startsWith(`${prefix}_`))
  return toClientName(name, isClear, [kind, name])
}

/** The name that the tool of a runnable had in earlier versions: `writer`, `team.newsroom`. */
export function toDottedName({ kind, name }: Named): string {
  return kind === 'agent' ? name : `${kind}.${name}`
}

/** The runnable of a tool, by its name or by its earlier one; an agent whose name looks like the earlier one of a team comes first. */
export function findRunnable(exposed: Pick<Exposed, 'get' | 'list'>, tool: string): Runnable | undefined {
  const agent = exposed.get('agent', tool)
  if (agent !== undefined && toToolName(agent) === tool) return agent
  const prefixed = findPrefixed(exposed, tool, '_')
  if (prefixed !== undefined && toToolName(prefixed) === tool) return prefixed
  const hashed = isHashed(tool) ? exposed.list().find((each) => toToolName(each) === tool) : undefined
  return hashed ?? agent ?? findPrefixed(exposed, tool, '.')
}

function findPrefixed(
  exposed: Pick<Exposed, 'get'>,
  tool: string,
  separator: '_' | '.'
): Runnable | undefined {
  const place = tool.indexOf(separator)
  const kind = tool.slice(0, Math.max(place, 0)) as RunnableKind
  if (!PREFIXED.includes(kind) || place + 1 === tool.length) return undefined
  return exposed.get(kind, tool.slice(place + 1))
}
