import type { TAny } from '@sinclair/typebox'
import type { compileForeignSchema } from '@svc/registry/schemas'
import { RUN_ERR_MCP } from '../errors.ts'
import { requireObjectSchema } from '../tools/compile-input.ts'
import { createTool, type Tool, type ToolContext, type ToolDefinition } from '../tools/define-tool.ts'
import { isDeeperThan, MAX_DEPTH } from '../json/json-faults.ts'
import { messageOf } from '../json/tool-output.ts'
import { ForeignCheck } from './foreign-check.ts'
import { stderrTailOf } from './stderr-tail.ts'
import { listTools } from './list-tools.ts'
import type { McpClient, McpTool } from './mcp-client.ts'
import { requireToolsOptions } from './mcp-options.ts'
import { toRequests, type McpRequests } from './mcp-requests.ts'
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

/**
 * The tools of an MCP server, for an agent. `client` is a client of the official SDK that is connected; whoever made it
 * closes it. Descriptions and results are what the server says: take the tools of servers only that you trust. What a call is
 * given and gives is checked against the server's schemas in bounded time; what of them cannot be checked is logged once.
 * @throws RUN_ERR_BAD_TOOL for an option, RUN_ERR_MCP when the server does not list its tools, or one cannot be a tool
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<Tool[]> {
  requireToolsOptions(options)
  const { include } = options
  const requests = await toRequests(client)
  const listed = await listTools(requests, () => stderrTailOf(client))
  const taken = listed.filter(
    (tool) =>
      include === undefined || (typeof include === 'function' ? include(tool) : include.includes(tool.name))
  )
  if (typeof include === 'object')
    for (const name of include)
      if (!listed.some((tool) => tool.name === name)) throw new RUN_ERR_MCP(`it has no tool "${name}"`)
  // Only who has a server needs its engine of patterns.
  const { compileForeignSchema } = await import('@svc/registry/schemas')
  const server = { requests, whyGone: () => stderrTailOf(client), compile: compileForeignSchema }
  return taken.map((tool) => toTool(server, tool, options))
}

interface Server {
  readonly requests: McpRequests
  readonly whyGone: () => { cause?: Error }
  readonly compile: typeof compileForeignSchema
}

function toTool({ requests, whyGone, compile }: Server, tool: McpTool, options: McpToolsOptions): Tool {
  const { prefix = '', timeout = 60_000, approvalTimeout, maxOutputBytes } = options
  const { name, description = '', inputSchema, outputSchema } = tool
  const approval = approvalOf(name, options.approval)
  const input = new ForeignCheck(compile, inputSchema, { subject: 'the arguments' })
  // Of what the server says of its own results nothing depends.
  const output =
    outputSchema && new ForeignCheck(compile, outputSchema, { subject: 'the result', lenient: true })
  try {
    if (isDeeperThan(inputSchema, MAX_DEPTH))
      throw new RangeError(`its input is nested deeper than ${MAX_DEPTH}`)
    const definition = {
      // Other servers allow more characters than models do.
      name: `${prefix}${name}`.replaceAll(/[^\w-]/g, '_'),
      description,
      input: inputSchema,
      timeout,
      ...(approval !== undefined && { approval }),
      ...(approvalTimeout !== undefined && { approvalTimeout }),
      ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      async execute(args: Readonly<Record<string, unknown>>, { signal, log }: ToolContext) {
        input.logLeftOut(log, name)
        const answer = await requests
          .call({ name, arguments: args }, { signal, timeout })
          .catch((err: unknown) => {
            const { cause } = whyGone()
            throw cause === undefined ? err : new Error(messageOf(err, 'no answer'), { cause })
          })
        const result = toToolResult(answer, output)
        output?.logLeftOut(log, name)
        return result
      }
    }
    return createTool(definition, (toolName, schema) => {
      requireObjectSchema(toolName, schema)
      return (args) => input.faultOf(args)
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
