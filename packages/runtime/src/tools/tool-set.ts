import { createHash } from 'node:crypto'
import type { LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { FIND_TOOLS, toolsFor, USE_TOOL } from './deferred-tools.ts'
import type { Tool } from './define-tool.ts'

/**
 * A tool the provider executes, e.g. `openai.tools.webSearch({})` of `@ai-sdk/openai`. Its name is the end of its id; no
 * approval, time-out or bound of this package applies to it.
 */
export interface ProviderTool {
  readonly type: 'provider'
  readonly id: `${string}.${string}`
  readonly args: Readonly<Record<string, unknown>>
  readonly isProviderExecuted?: boolean
}

/** A tool of an agent: made by `defineTool`, or executed by the provider. */
export type AgentTool = Tool | ProviderTool

type ModelTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool

/** The tools of a run or a step. */
export interface ToolSet {
  /** A tool that is executed here. */
  get(name: string): Tool | undefined
  readonly names: readonly string[]
  /** Those that the caller of the run serves. */
  readonly clientTools: readonly Tool[]
  /** Without those that are deferred, for the model, sorted by name, and those of the caller last; undefined without tools. */
  readonly forModel: ModelTool[] | undefined
  /** These and more. @throws RUN_ERR_BAD_AGENT for a duplicate name */
  with(more: readonly AgentTool[]): ToolSet
  /** Those with these names. @throws RUN_ERR_BAD_AGENT for an unknown name */
  only(names: readonly string[]): ToolSet
}

/** @throws RUN_ERR_BAD_AGENT for anything that is not a tool, and for duplicate names */
export function createToolSet(tools: readonly AgentTool[]): ToolSet {
  const byName = new Map<string, AgentTool>()
  for (const [index, tool] of tools.entries()) {
    const name = requireTool(tool, `tools/${index}`)
    if (byName.has(name)) throw new RUN_ERR_BAD_AGENT(`tools/${index}: there are two tools "${name}"`)
    byName.set(name, tool)
  }
  const deferred = tools.filter(isDeferred)
  if (deferred.length > 0)
    for (const tool of toolsFor(deferred)) {
      if (byName.has(tool.name))
        throw new RUN_ERR_BAD_AGENT(`"${tool.name}" is the name of a tool that finds or calls deferred ones`)
      byName.set(tool.name, tool)
    }
  // Sets of some of the tools have the two for those of them that are deferred.
  const isOwn = (name: string) => deferred.length === 0 || (name !== FIND_TOOLS && name !== USE_TOOL)
  const listed = deferred.length === 0 ? [...byName] : [...byName].filter(([, tool]) => !isDeferred(tool))
  return {
    get(name) {
      const tool = byName.get(name)
      return tool === undefined || isProviderTool(tool) ? undefined : tool
    },
    names: [...byName.keys()],
    clientTools: tools.filter(isClientTool),
    forModel:
      listed.length === 0 ? undefined : listed.sort(inOrder).map(([name, tool]) => toModelTool(name, tool)),
    with: (more) => createToolSet([...tools, ...more]),
    only: (names) =>
      createToolSet(
        [...new Set(names)].filter(isOwn).map((name) => {
          const tool = byName.get(name)
          if (tool !== undefined) return tool
          const known = byName.size === 0 ? 'there are none' : `there are ${[...byName.keys()].join(', ')}`
          throw new RUN_ERR_BAD_AGENT(`there is no tool "${name}"; ${known}`)
        })
      )
  }
}

function isDeferred(tool: AgentTool): tool is Tool {
  return !isProviderTool(tool) && tool.deferred === true
}

// Those of the caller come last: the agent's own then begin every prompt with the same bytes, whoever calls it.
function inOrder([nameA, a]: readonly [string, AgentTool], [nameB, b]: readonly [string, AgentTool]): number {
  const places = Number(isClientTool(a)) - Number(isClientTool(b))
  return places === 0 ? compareCodeUnits(nameA, nameB) : places
}

function compareCodeUnits(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

const PROVIDER_TOOL_ID = /^[\w-]+(\.[\w-]+)+$/

function requireTool(tool: AgentTool, where: string): string {
  if (typeof tool !== 'object' || tool === null) throw new RUN_ERR_BAD_AGENT(`${where}: use defineTool`)
  if (!isProviderTool(tool)) {
    if (typeof tool.validateInput !== 'function') throw new RUN_ERR_BAD_AGENT(`${where}: use defineTool`)
    return tool.name
  }
  if (typeof tool.id !== 'string' || !PROVIDER_TOOL_ID.test(tool.id))
    throw new RUN_ERR_BAD_AGENT(`${where}: a tool of a provider has an id such as "openai.web_search"`)
  const { args } = tool as { args: unknown }
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new RUN_ERR_BAD_AGENT(`${where}: the args of "${tool.id}" are no object`)
  if (tool.isProviderExecuted === false)
    throw new RUN_ERR_BAD_AGENT(`${where}: the provider does not execute "${tool.id}"; use defineTool`)
  return tool.id.slice(tool.id.indexOf('.') + 1)
}

function isClientTool(tool: AgentTool): tool is Tool {
  return !isProviderTool(tool) && tool.runsAt === 'client'
}

function isProviderTool(tool: AgentTool): tool is ProviderTool {
  return 'type' in tool && tool.type === 'provider'
}

function toModelTool(name: string, tool: AgentTool): ModelTool {
  if (isProviderTool(tool)) return { type: 'provider', id: tool.id, name, args: { ...tool.args } }
  const { description, inputSchema } = tool
  return { type: 'function', name, description, inputSchema }
}

const MAX_LENGTH = 64
const FITTING = /^[A-Za-z_][\w-]{0,63}$/

/**
 * A name as every provider takes it for a tool: 1–64 letters, digits, `_` and `-`, and no digit or hyphen first. A long name is
 * shortened, and ends with a hash of all of it.
 */
export function toToolName(name: string): string {
  if (FITTING.test(name)) return name
  const safe = name.replace(/[^\w-]/g, '_').replace(/^(?![A-Za-z_])/, '_')
  if (safe.length <= MAX_LENGTH) return safe
  const hash = createHash('sha256').update(name.toWellFormed()).digest('hex').slice(0, 8)
  return `${safe.slice(0, MAX_LENGTH - 9)}_${hash}`
}

/** A name that is not taken, with a number if it was; takes it. */
export function unusedName(name: string, taken: Set<string>): string {
  let free = name
  for (let count = 2; taken.has(free); count++) {
    const end = `_${count}`
    free = name.slice(0, MAX_LENGTH - end.length) + end
  }
  taken.add(free)
  return free
}

/** A name for each tool, as every provider takes it: those that fit stay as they are, duplicates are numbered. */
export function toToolNames(names: readonly string[]): string[] {
  const taken = new Set(names.filter((name) => FITTING.test(name)))
  const given = new Set<string>()
  return names.map((name) => {
    if (!FITTING.test(name) || given.has(name)) return unusedName(toToolName(name), taken)
    given.add(name)
    return name
  })
}
