import { defined, MAX_TIMER } from '@svc/contract'
import type { TAny } from '@sinclair/typebox'
import type { compileForeignSchema } from '@svc/contract/schemas'
import { RUN_ERR_MCP } from '../errors.ts'
import { isDeeperThan, MAX_DEPTH, messageOf } from '../json/json.ts'
import { ForeignCheck, inlineRoot, isRecord, type PlainSchema } from '../schemas/compile-schema.ts'
import { createTool, type Tool, type ToolContext, type ToolDefinition } from '../tools/define-tool.ts'
import { toolContent, type ToolContentPart } from '../tool-calls/tool-outcome.ts'
import { toToolNames } from '../tools/tool-set.ts'
import { loadSdk, requireToolsOptions, stderrTailOf, type McpClient, type McpTool } from './connect-mcp.ts'

/** A tool as a server lists it, before it is checked: many servers do not keep to the protocol. */
export type ListedTool = { readonly [Field in keyof McpTool]?: unknown } | null

/** One page of a server's tools. */
export interface ToolPage {
  readonly tools: readonly ListedTool[]
  readonly nextCursor?: string | undefined
}

/** Parameters of a tool call. */
export interface CallParams {
  name: string
  arguments: Record<string, unknown>
}

/** Requests to a server. Times are in milliseconds. */
export interface McpRequests {
  list(cursor: string | undefined, timeout: number): Promise<ToolPage>
  call(params: CallParams, options: { signal: AbortSignal; timeout: number }): Promise<object>
}

type Request = (request: object, resultSchema: object, options: object) => Promise<never>

/**
 * Wraps a client. The SDK's `listTools` compiles the server's output schemas and `callTool` runs them: an untrusted pattern
 * could backtrack without limit, and an invalid one would fail the whole list, as would a tool that its `ListToolsResultSchema` does
 * not take. Plain requests avoid that.
 */
async function toRequests(client: McpClient): Promise<McpRequests> {
  if (typeof client.request !== 'function')
    return {
      list: (cursor, timeout) => client.listTools(cursor === undefined ? {} : { cursor }, { timeout }),
      call: (params, options) => client.callTool(params, undefined, options)
    }
  const sdk = await loadSdk(() => import('@modelcontextprotocol/sdk/types.js'))
  const request = client.request.bind(client) as unknown as Request
  return {
    list: (cursor, timeout) =>
      request(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        sdk.PaginatedResultSchema,
        { timeout }
      ),
    call: (params, options) => request({ method: 'tools/call', params }, sdk.CallToolResultSchema, options)
  }
}

/** The tools of a server that models can use, and why the others are left out. */
export interface SortedTools {
  readonly usable: readonly McpTool[]
  readonly leftOut: readonly string[]
}

/**
 * Picks the tools to include that models can use.
 * @throws RUN_ERR_MCP if `include` names a tool that the server does not list
 */
function sortTools(
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
  /** True to keep the tools out of the prompt, as `deferred` of `defineTool`; default false. */
  deferred?: boolean
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
  const { timeout = 60_000, approvalTimeout, deferred, maxOutputBytes } = options
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
    ...defined({ approval, approvalTimeout, deferred, maxOutputBytes }),
    async execute(args: Readonly<Record<string, unknown>>, { signal, log }: ToolContext) {
      input.logUnchecked(log, tool.name)
      const answer = await requests
        .call({ name: tool.name, arguments: args }, { signal, timeout: MAX_TIMER })
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
