import type { TAny } from '@sinclair/typebox'
import { RUN_ERR_MCP } from '../errors.ts'
import { defineTool, type Tool, type ToolDefinition } from '../tools/define-tool.ts'
import { messageOf } from '../tools/tool-output.ts'
import { lastWordsOf } from './last-words.ts'
import type { McpClient, McpTool } from './mcp-client.ts'
import { requireToolsOptions } from './mcp-options.ts'
import { toToolResult } from './mcp-result.ts'

/** Which tools of an MCP server are taken, and how. */
export interface McpToolsOptions {
  /** Put before the name of each tool, so that those of two servers do not meet; default none. */
  prefix?: string
  /** The names that are taken, as the server has them, or a function that says so; default all. */
  include?: readonly string[] | ((tool: McpTool) => boolean)
  /** Whether calls wait for an approval, for all tools or by their names; goes before the agent's policy. */
  approval?: Approval | Readonly<Record<string, Approval>>
  /** Milliseconds until an approval that nobody answers counts as denied; default: the agent's `approvalTimeout`. */
  approvalTimeout?: number
  /** Milliseconds for a call; default 60,000. */
  timeout?: number
  /** Bytes of JSON that a result may have; default 262,144. */
  maxOutputBytes?: number
}

type Approval = NonNullable<ToolDefinition<TAny>['approval']>

const MOST_TOOLS = 1_000
const LIST_TIMEOUT = 30_000

/**
 * The tools of an MCP server, for an agent. `client` is a client of the official SDK that is connected; whoever made it
 * closes it. Descriptions and results are what the server says: take the tools of servers only that you trust.
 * @throws RUN_ERR_BAD_TOOL for an option, RUN_ERR_MCP when the server does not list its tools, or one cannot be a tool
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<Tool[]> {
  requireToolsOptions(options)
  const { include } = options
  const listed = await listTools(client)
  const taken = listed.filter(
    (tool) =>
      include === undefined || (typeof include === 'function' ? include(tool) : include.includes(tool.name))
  )
  if (typeof include === 'object')
    for (const name of include)
      if (!listed.some((tool) => tool.name === name)) throw new RUN_ERR_MCP(`it has no tool "${name}"`)
  return taken.map((tool) => toTool(client, tool, options))
}

async function listTools(client: McpClient): Promise<McpTool[]> {
  const tools: McpTool[] = []
  let cursor: string | undefined
  try {
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: LIST_TIMEOUT })
      tools.push(...page.tools)
      cursor = page.nextCursor
    } while (cursor !== undefined && tools.length < MOST_TOOLS)
  } catch (err) {
    throw new RUN_ERR_MCP(`its tools cannot be listed: ${messageOf(err, 'no answer')}`, lastWordsOf(client))
  }
  if (tools.length > MOST_TOOLS) throw new RUN_ERR_MCP(`it has more than ${MOST_TOOLS} tools`)
  return tools
}

function toTool(client: McpClient, tool: McpTool, options: McpToolsOptions): Tool {
  const { prefix = '', timeout = 60_000, approvalTimeout, maxOutputBytes } = options
  const { name, description = '', inputSchema } = tool
  const approval = approvalOf(name, options.approval)
  try {
    return defineTool({
      // Other servers allow more characters than models do.
      name: `${prefix}${name}`.replaceAll(/[^\w-]/g, '_'),
      description,
      input: inputSchema,
      timeout,
      ...(approval !== undefined && { approval }),
      ...(approvalTimeout !== undefined && { approvalTimeout }),
      ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      execute: async (args, { signal }) => {
        const answer = await client
          .callTool({ name, arguments: args }, undefined, { signal, timeout })
          .catch((err: unknown) => {
            const { cause } = lastWordsOf(client)
            throw cause === undefined ? err : new Error(messageOf(err, 'no answer'), { cause })
          })
        return toToolResult(answer)
      }
    })
  } catch (err) {
    throw new RUN_ERR_MCP(`its tool "${name}": ${(err as Error).message}`)
  }
}

function approvalOf(name: string, approval: McpToolsOptions['approval']): Approval | undefined {
  return typeof approval === 'object'
    ? Object.hasOwn(approval, name)
      ? approval[name]
      : undefined
    : approval
}
