import type { TAny } from '@sinclair/typebox'
import type { compileForeignSchema } from '@svc/registry/schemas'
import { RUN_ERR_MCP } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH } from '../json/json-faults.ts'
import { messageOf } from '../json/tool-output.ts'
import { toPlainSchema } from '../schemas/plain-schema.ts'
import {
  createTool,
  schemaError,
  type Tool,
  type ToolContext,
  type ToolDefinition
} from '../tools/define-tool.ts'
import { ForeignCheck } from '../schemas/foreign-check.ts'
import { stderrTailOf } from './stderr-tail.ts'
import { listTools } from './list-tools.ts'
import type { McpClient, McpTool } from './mcp-client.ts'
import { requireToolsOptions } from './mcp-options.ts'
import { toRequests, type McpRequests } from './mcp-requests.ts'
import { toToolResult } from './mcp-result.ts'

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
 * checked against the server's schemas in bounded time; unsupported parts of a schema are logged once.
 * @throws RUN_ERR_BAD_TOOL for a bad option, RUN_ERR_MCP if the server does not list its tools or lists an invalid one
 */
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<Tool[]> {
  requireToolsOptions(options)
  const { include } = options
  const requests = await toRequests(client)
  const listed = await listTools(requests, () => stderrTailOf(client))
  const included = listed.filter(
    (tool) =>
      include === undefined || (typeof include === 'function' ? include(tool) : include.includes(tool.name))
  )
  if (typeof include === 'object')
    for (const name of include)
      if (!listed.some((tool) => tool.name === name)) throw new RUN_ERR_MCP(`it has no tool "${name}"`)
  // Loaded lazily: its pattern engine is needed for MCP only.
  const { compileForeignSchema } = await import('@svc/registry/schemas')
  const server = { requests, causeOf: () => stderrTailOf(client), compile: compileForeignSchema }
  return included.map((tool) => toTool(server, tool, options))
}

interface Server {
  readonly requests: McpRequests
  readonly causeOf: () => { cause?: Error }
  readonly compile: typeof compileForeignSchema
}

function toTool({ requests, causeOf, compile }: Server, tool: McpTool, options: McpToolsOptions): Tool {
  const { prefix = '', timeout = 60_000, approvalTimeout, maxOutputBytes } = options
  const { name, description = '', inputSchema, outputSchema } = tool
  const approval = approvalOf(name, options.approval)
  const input = new ForeignCheck(compile, inputSchema, { subject: 'the arguments' })
  // Lenient: the service does not depend on the server's own results.
  const output =
    outputSchema && new ForeignCheck(compile, outputSchema, { subject: 'the result', lenient: true })
  try {
    if (isDeeperThan(inputSchema, MAX_DEPTH))
      throw new RangeError(`its input schema is nested deeper than ${MAX_DEPTH}`)
    const definition = {
      // MCP allows more characters in names than models do.
      name: `${prefix}${name}`.replaceAll(/[^\w-]/g, '_'),
      description,
      input: inputSchema,
      timeout,
      ...(approval !== undefined && { approval }),
      ...(approvalTimeout !== undefined && { approvalTimeout }),
      ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      async execute(args: Readonly<Record<string, unknown>>, { signal, log }: ToolContext) {
        input.logUnchecked(log, name)
        const answer = await requests
          .call({ name, arguments: args }, { signal, timeout })
          .catch((err: unknown) => {
            const { cause } = causeOf()
            throw cause === undefined ? err : new Error(messageOf(err, 'no answer'), { cause })
          })
        const result = toToolResult(answer, output)
        output?.logUnchecked(log, name)
        return result
      }
    }
    return createTool(definition, () => ({
      plain: toPlainSchema(inputSchema, schemaError('input', definition.name)),
      validate(value) {
        const fault = input.faultOf(value)
        return fault === undefined ? { value } : { fault }
      }
    }))
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
