import { RUN_ERR_MCP } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH } from '../json/json-faults.ts'
import { inlineRoot, isRecord, type PlainSchema } from '../schemas/plain-schema.ts'
import type { McpTool } from './mcp-client.ts'
import type { ListedTool } from './mcp-requests.ts'

/** The tools of a server that models can use, and why the others are left out. */
export interface SortedTools {
  readonly usable: readonly McpTool[]
  readonly leftOut: readonly string[]
}

/**
 * Picks the tools to include that models can use.
 * @throws RUN_ERR_MCP if `include` names a tool that the server does not list
 */
export function sortTools(
  listed: readonly ListedTool[],
  include: readonly string[] | ((tool: McpTool) => boolean) | undefined
): SortedTools {
  const usable = new Map<string, McpTool>()
  const leftOut: string[] = []
  if (Array.isArray(include))
    for (const name of include)
      if (!listed.some((tool) => tool?.name === name)) throw new RUN_ERR_MCP(`it has no tool "${name}"`)
  for (const tool of listed) {
    const name = tool?.name
    if (Array.isArray(include) && !include.includes(name)) continue
    if (typeof name !== 'string' || name === '') leftOut.push('one has no name')
    else if (usable.has(name)) leftOut.push(`"${name}" is listed twice`)
    else {
      const { inputSchema, fault } = toInput(tool!.inputSchema)
      const { description, outputSchema } = tool!
      const sorted: McpTool = {
        ...(tool as McpTool),
        inputSchema,
        description: typeof description === 'string' ? description : undefined,
        outputSchema: isRecord(outputSchema) ? outputSchema : undefined
      }
      if (typeof include === 'function' && !include(sorted)) continue
      if (fault === undefined) usable.set(name, sorted)
      else leftOut.push(`the input schema of "${name}" ${fault}`)
    }
  }
  return { usable: [...usable.values()], leftOut }
}

// Many servers leave out the type, or the whole schema, of tools that take any arguments or none.
function toInput(schema: unknown): { inputSchema: PlainSchema; fault?: string } {
  const anything = { type: 'object' }
  if (schema === undefined || schema === null || schema === true) return { inputSchema: anything }
  if (!isRecord(schema)) return { inputSchema: anything, fault: 'is no schema' }
  if (isDeeperThan(schema, MAX_DEPTH))
    return { inputSchema: anything, fault: `is nested deeper than ${MAX_DEPTH}` }
  const { type, ...rest } = inlineRoot({ ...schema })
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  return { inputSchema: { type: 'object', ...rest }, ...(!isObject && { fault: 'is not that of an object' }) }
}
