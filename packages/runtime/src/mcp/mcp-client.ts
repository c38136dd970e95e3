import { RUN_ERR_NOT_INSTALLED } from '../errors.ts'

/** A tool of an MCP server, as its list has it. */
export interface McpTool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** A JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  /** What the server says of its effects: hints, and no promises. */
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

/** The part of a client of the official MCP SDK that is used; it is connected already. Times are milliseconds. */
export interface McpClient {
  /** Used instead of the others where it is there: they compile the schemas of the server, patterns included, as they are. */
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

/** A client that `connectMcp` made: the `Client` of the official SDK. */
export interface McpConnection extends McpClient {
  /** Ends the connection, and a program that was started for it. */
  close(): Promise<void>
}

/** Loads a module of the official SDK, which is an optional peer. @throws RUN_ERR_NOT_INSTALLED */
export async function loadSdk<T>(loading: () => Promise<T>): Promise<T> {
  try {
    return await loading()
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new RUN_ERR_NOT_INSTALLED('@modelcontextprotocol/sdk')
  }
}
