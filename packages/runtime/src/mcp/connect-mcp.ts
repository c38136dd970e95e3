import type { Stream } from 'node:stream'
import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_TOOL, RUN_ERR_MCP, RUN_ERR_NOT_INSTALLED } from '../errors.ts'
import { messageOf } from '../json/json.ts'
import { ToolOptionsSchema } from '../tools/define-tool.ts'

const MAX_BYTES = 2_048

// By client: the SDK has no place for it.
const stderrTails = new WeakMap<object, () => string>()

/** Drains the stderr of a client's server program, and keeps the last 2 KiB. */
function keepStderrTail(client: object, stderr: Stream | null): void {
  let kept = Buffer.alloc(0)
  stderr?.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-MAX_BYTES)
  })
  stderrTails.set(client, () => kept.toString().trim())
}

/** The end of a server program's stderr as the `cause` of an error; empty if there is none. */
export function stderrTailOf(client: object): { cause?: Error } {
  const text = stderrTails.get(client)?.() ?? ''
  return text === '' ? {} : { cause: new Error(`the end of the server's stderr: ${text}`) }
}

/** A tool as an MCP server lists it. */
export interface McpTool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** A JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  /** Unverified hints of the server about its effects. */
  readonly annotations?:
    | {
        readonly title?: string | undefined
        readonly readOnlyHint?: boolean | undefined
        readonly destructiveHint?: boolean | undefined
        readonly idempotentHint?: boolean | undefined
        readonly openWorldHint?: boolean | undefined
      }
    | undefined
}

/** The used part of a connected client of the official MCP SDK. Times are in milliseconds. */
export interface McpClient {
  /** Preferred if present: the other methods compile the server's schemas, patterns included, without limits. */
  request?(request: never, resultSchema: never, options?: never): Promise<unknown>
  listTools(
    params?: { cursor?: string },
    options?: { timeout?: number }
  ): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: string | undefined }>
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    resultSchema?: undefined,
    options?: { signal?: AbortSignal; timeout?: number }
  ): Promise<object>
}

/** A client of `connectMcp`: the `Client` of the official SDK. */
export interface McpConnection extends McpClient {
  /** Closes the connection, and stops the server program if `connectMcp` started it. */
  close(): Promise<void>
}

/** Loads a module of the official SDK, an optional peer dependency. @throws RUN_ERR_NOT_INSTALLED */
export async function loadSdk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new RUN_ERR_NOT_INSTALLED('@modelcontextprotocol/sdk')
  }
}

const strict = { additionalProperties: false }
const functionSchema = Type.Function([], Type.Unknown())
const texts = Type.Record(Type.String(), Type.String())
const approval = Type.Union([Type.Boolean(), functionSchema])
const { approvalTimeout, deferred, timeout, maxOutputBytes } = ToolOptionsSchema.properties

const ToolsSchema = Type.Object(
  {
    prefix: Type.Optional(Type.String()),
    include: Type.Optional(Type.Union([Type.Array(Type.String()), functionSchema])),
    approval: Type.Optional(Type.Union([approval, Type.Record(Type.String(), approval)])),
    approvalTimeout,
    deferred,
    timeout,
    maxOutputBytes
  },
  strict
)
const ProgramSchema = Type.Object(
  {
    command: Type.String({ minLength: 1 }),
    args: Type.Optional(Type.Array(Type.String())),
    env: Type.Optional(texts),
    cwd: Type.Optional(Type.String())
  },
  strict
)
const RemoteSchema = Type.Object({ url: Type.Any(), headers: Type.Optional(texts) }, strict)

/** Checks the options of `mcpTools`. @throws RUN_ERR_BAD_TOOL */
export function requireToolsOptions(options: unknown): void {
  requireOptions(ToolsSchema, options, prefixedError('mcpTools', RUN_ERR_BAD_TOOL))
}

/** Checks the location of a server. @throws RUN_ERR_MCP */
function requireServer(server: unknown): void {
  const { command, url } = (server ?? {}) as { command?: unknown; url?: unknown }
  const Fault = prefixedError('connectMcp', RUN_ERR_MCP)
  if (command === undefined && url === undefined) throw new Fault('neither a command nor a url')
  requireOptions(command === undefined ? RemoteSchema : ProgramSchema, server, Fault)
  if (command === undefined && !URL.canParse(String(url))) throw new Fault('url: not a URL')
}

/** An MCP server: a program to start, or the URL of a Streamable HTTP endpoint. */
export type McpServer =
  | { command: string; args?: string[]; env?: Record<string, string>; cwd?: string }
  | { url: string | URL; headers?: Record<string, string> }

/**
 * Connects to an MCP server with the official SDK; `close()` of the client disconnects it. A started program gets only the
 * given environment and the variables that the SDK considers safe. The last 2 KiB of its stderr become the `cause` of an
 * error, for logs only.
 * @throws RUN_ERR_NOT_INSTALLED without `@modelcontextprotocol/sdk`, RUN_ERR_MCP for an unreachable server or bad options
 */
export async function connectMcp(server: McpServer): Promise<McpConnection> {
  requireServer(server)
  const { Client } = await loadSdk(() => import('@modelcontextprotocol/sdk/client/index.js'))
  const client = new Client({ name: 'svc-runtime', version: '1.0.0' })
  try {
    await client.connect(await createTransport(server, client))
    return client
  } catch (err) {
    await client.close().catch(() => {})
    throw new RUN_ERR_MCP(`cannot connect: ${messageOf(err, 'no answer')}`, stderrTailOf(client))
  }
}

async function createTransport(server: McpServer, client: object) {
  if ('command' in server) {
    const { StdioClientTransport } = await loadSdk(() => import('@modelcontextprotocol/sdk/client/stdio.js'))
    const transport = new StdioClientTransport({ ...server, stderr: 'pipe' })
    keepStderrTail(client, transport.stderr)
    return transport
  }
  const { StreamableHTTPClientTransport } = await loadSdk(
    () => import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  )
  const { url, headers } = server
  return new StreamableHTTPClientTransport(new URL(url), headers && { requestInit: { headers } })
}
