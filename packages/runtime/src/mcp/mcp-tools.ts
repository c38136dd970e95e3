import type { TAny } from '@sinclair/typebox'
import type { compileForeignSchema } from '@svc/contract/schemas'
import { messageOf } from '../json/tool-output.ts'
import { createTool, type Tool, type ToolContext, type ToolDefinition } from '../tools/define-tool.ts'
import { toToolNames } from '../tools/tool-names.ts'
import { ForeignCheck } from '../schemas/foreign-check.ts'
import { stderrTailOf } from './stderr-tail.ts'
import type { McpClient, McpTool } from './mcp-client.ts'
import { requireToolsOptions } from './mcp-options.ts'
import { toRequests, type ListedTool, type McpRequests, type ToolPage } from './mcp-requests.ts'
import { sortTools } from './sort-tools.ts'
import { RUN_ERR_MCP } from '../errors.ts'
import { toolContent, type ToolContentPart } from '../tools/tool-content.ts'

const MAX_TOOLS = 1_000
const MAX_PAGES = 100
const MAX_CHARACTERS = 8_388_608
// Milliseconds for one page, and for all pages.
const PAGE_TIMEOUT = 30_000
const LIST_TIMEOUT = 120_000

/**
 * Lists the tools of a server, page by page.
 * @throws RUN_ERR_MCP for no answer, one without a list, a list that is too large, or one that does not end; `causeOf` gives the cause
 */
async function listTools(
  requests: McpRequests,
  causeOf: () => { cause?: Error }
): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = []
  const cursors = new Set<string>()
  const end = performance.now() + LIST_TIMEOUT
  let characters = 0
  for (let cursor: string | undefined; ;) {
    const left = end - performance.now()
    if (left <= 0) throw new RUN_ERR_MCP(`its tools cannot be listed within ${LIST_TIMEOUT} ms`)
    const page = await readPage(requests, cursor, Math.min(left, PAGE_TIMEOUT), causeOf)
    if (!Array.isArray(page.tools)) throw new RUN_ERR_MCP('its list of tools is no list')
    for (const tool of page.tools) {
      if (tools.push(tool) > MAX_TOOLS) throw new RUN_ERR_MCP(`it has more than ${MAX_TOOLS} tools`)
      characters += JSON.stringify(tool).length
      if (characters > MAX_CHARACTERS)
        throw new RUN_ERR_MCP(`its list of tools has more than ${MAX_CHARACTERS} characters`)
    }
    cursor = page.nextCursor
    if (cursor === undefined) return tools
    if (cursors.has(cursor)) throw new RUN_ERR_MCP('its list of tools repeats a cursor')
    if (cursors.add(cursor).size >= MAX_PAGES)
      throw new RUN_ERR_MCP(`its list of tools has more than ${MAX_PAGES} pages`)
  }
}

async function readPage(
  requests: McpRequests,
  cursor: string | undefined,
  timeout: number,
  causeOf: () => { cause?: Error }
): Promise<ToolPage> {
  try {
    return await requests.list(cursor, timeout)
  } catch (err) {
    throw new RUN_ERR_MCP(`its tools cannot be listed: ${messageOf(err, 'no answer')}`, causeOf())
  }
}

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
  const { compileForeignSchema } = await import('@svc/contract/schemas')
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

interface McpContent {
  readonly type: string
  readonly text?: string
  readonly data?: string
  readonly mimeType?: string
  readonly uri?: string
  readonly resource?: {
    readonly uri: string
    readonly text?: string
    readonly blob?: string
    readonly mimeType?: string
  }
}

/**
 * Converts an MCP result to a tool result: all content if any is binary, else the structured content, else the text.
 * @throws an error with the server's text if the call failed, or if the structured content does not match its schema
 */
function toToolResult(answer: object, schema?: ForeignCheck): unknown {
  const {
    content = [],
    structuredContent,
    isError
  } = answer as {
    content?: McpContent[]
    structuredContent?: unknown
    isError?: boolean
  }
  const parts = content.map(toPart)
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  if (isError === true) throw new Error(text.trim() || 'the tool failed')
  if (schema !== undefined) requireStructured(structuredContent, schema)
  if (parts.some((part) => part.type !== 'text')) return toolContent(parts)
  return structuredContent ?? text
}

function requireStructured(content: unknown, schema: ForeignCheck): void {
  const fault = content === undefined ? 'it is missing' : schema.faultOf(content)
  if (fault !== undefined)
    throw new Error(`the structured content of the result does not match its schema: ${fault}`)
}

function toPart({ type, text, data, mimeType, uri, resource }: McpContent): ToolContentPart {
  if ((type === 'image' || type === 'audio') && data !== undefined)
    return { type, mimeType: mimeType ?? 'application/octet-stream', data }
  if (type === 'resource' && resource?.blob !== undefined) {
    const { blob, mimeType: of = 'application/octet-stream' } = resource
    return { type: of.startsWith('image/') ? 'image' : 'file', mimeType: of, data: blob }
  }
  return { type: 'text', text: text ?? resource?.text ?? uri ?? '' }
}
