import { RUN_ERR_NOT_INSTALLED } from '../errors.ts'

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
