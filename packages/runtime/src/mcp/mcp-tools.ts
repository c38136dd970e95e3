import type { TAny } from '@sinclair/typebox'
import type { compileForeignSchema } from '@svc/registry/schemas'
import { messageOf } from '../json/tool-output.ts'
import { createTool, type Tool, type ToolContext, type ToolDefinition } from '../tools/define-tool.ts'
import { toToolNames } from '../tools/tool-names.ts'
import { ForeignCheck } from '../schemas/foreign-check.ts'
import { stderrTailOf } from './stderr-tail.ts'
import { listTools } from './list-tools.ts'
import type { McpClient, McpTool } from './mcp-client.ts'
import { requireToolsOptions } from './mcp-options.ts'
import { toRequests, type McpRequests } from './mcp-requests.ts'
import { toToolResult } from './mcp-result.ts'
import { sortTools } from './sort-tools.ts'

/** Selects and configures the tools of an MCP server. */
export interface McpToolsOptions {
  /** Prefix of every tool name, to avoid clashes between servers; default none. */
  prefix?: string
  /** Names of the tools to include, as the server lists them, or a predicate; default all. */
  include?: readonly string[] | ((tool: McpTool) => boolean)
  /** Whether calls wait for an approval, for all tools or by tool name; takes precedence over the agent's policy. */
  approval?: Approval | Readonly<Record<string, Approval>>
  /** Milliseconds until an unanswered approval counts as denied; default: the agent's `approvalTimeout`. */
  approvalTimeout?: number
  /** Milliseconds per call; default 60,000. */
  timeout?: number
  /** Maximum size of a result, in bytes of JSON; default 262,144. */
  maxOutputBytes?: number
}

type Approval = NonNullable<ToolDefinition<TAny>['approval']>

/**
 * Converts the tools of an MCP server for an agent. `client` is a connected client of the official SDK; the caller closes it.
 * The model reads the server's descriptions and results verbatim, so use trusted servers only. Arguments and results are
 * checked against the server's schemas in bounded time; unsupported parts of a schema are logged once. A tool that no model can use is
 * left out, with a warning of the process.
 * @throws RUN_ERR_BAD_TOOL for a bad option, RUN_ERR_MCP if the server does not list its tools, or has none that `include` names
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<Tool[]> {
  requireToolsOptions(options)
  const { include, prefix = '' } = options
  const requests = await toRequests(client)
  const { usable, leftOut } = sortTools(await listTools(requests, () => stderrTailOf(client)), include)
  // Loaded lazily: its pattern engine is needed for MCP only.
  const { compileForeignSchema } = await import('@svc/registry/schemas')
  const server = { requests, causeOf: () => stderrTailOf(client), compile: compileForeignSchema }
  const names = toToolNames(usable.map((tool) => prefix + tool.name))
  const tools = usable.map((tool, index) => toTool(server, tool, names[index]!, options))
  if (leftOut.length > 0)
    process.emitWarning(`MCP server: tools are left out: ${leftOut.join('; ')}`, { code: 'RUN_ERR_MCP' })
  return tools
}

interface Server {
  readonly requests: McpRequests
  readonly causeOf: () => { cause?: Error }
  readonly compile: typeof compileForeignSchema
}

function toTool(
  { requests, causeOf, compile }: Server,
  tool: McpTool,
  name: string,
  options: McpToolsOptions
): Tool {
  const { timeout = 60_000, approvalTimeout, maxOutputBytes } = options
  const { description = '', inputSchema, outputSchema } = tool
  const approval = approvalOf(tool.name, options.approval)
  const input = new ForeignCheck(compile, inputSchema, { subject: 'the arguments' })
  // Lenient: the service does not depend on the server's own results.
  const output =
    outputSchema && new ForeignCheck(compile, outputSchema, { subject: 'the result', lenient: true })
  const definition = {
    name,
    description,
    input: inputSchema,
    timeout,
    ...(approval !== undefined && { approval }),
    ...(approvalTimeout !== undefined && { approvalTimeout }),
    ...(maxOutputBytes !== undefined && { maxOutputBytes }),
    async execute(args: Readonly<Record<string, unknown>>, { signal, log }: ToolContext) {
      input.logUnchecked(log, tool.name)
      const answer = await requests
        .call({ name: tool.name, arguments: args }, { signal, timeout })
        .catch((err: unknown) => {
          const { cause } = causeOf()
          throw cause === undefined ? err : new Error(messageOf(err, 'no answer'), { cause })
        })
      const result = toToolResult(answer, output)
      output?.logUnchecked(log, tool.name)
      return result
    }
  }
  return createTool(definition, () => ({
    plain: inputSchema,
    validate(value) {
      const fault = input.faultOf(value)
      return fault === undefined ? { value } : { fault }
    }
  }))
}

function approvalOf(name: string, approval: McpToolsOptions['approval']): Approval | undefined {
  return typeof approval === 'object'
    ? Object.hasOwn(approval, name)
      ? approval[name]
      : undefined
    : approval
}
