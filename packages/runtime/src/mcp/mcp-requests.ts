import { loadSdk, type McpClient, type McpTool } from './mcp-client.ts'

/** A page of the list of a server's tools. */
export interface ToolPage {
  readonly tools: readonly McpTool[]
  readonly nextCursor?: string | undefined
}

/** A call of a tool. */
export interface CallParams {
  name: string
  arguments: Record<string, unknown>
}

/** What a server is asked. Times are milliseconds. */
export interface McpRequests {
  list(cursor: string | undefined, timeout: number): Promise<ToolPage>
  call(params: CallParams, options: { signal: AbortSignal; timeout: number }): Promise<object>
}

type Ask = (request: object, resultSchema: object, options: object) => Promise<never>

/**
 * How a client asks. `listTools` of the SDK compiles the output schemas of the server, and `callTool` runs them: a pattern of a
 * stranger would backtrack for as long as it likes, and a bad one refuse all tools. A plain request does neither.
 */
export async function toRequests(client: McpClient): Promise<McpRequests> {
  if (typeof client.request !== 'function')
    return {
      list: (cursor, timeout) => client.listTools(cursor === undefined ? {} : { cursor }, { timeout }),
      call: (params, options) => client.callTool(params, undefined, options)
    }
  const sdk = await loadSdk(() => import('@modelcontextprotocol/sdk/types.js'))
  const ask = client.request.bind(client) as unknown as Ask
  return {
    list: (cursor, timeout) =>
      ask(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        sdk.ListToolsResultSchema,
        {
          timeout
        }
      ),
    call: (params, options) => ask({ method: 'tools/call', params }, sdk.CallToolResultSchema, options)
  }
}
