import { loadSdk, type McpClient, type McpTool } from './mcp-client.ts'

/** One page of a server's tools. */
export interface ToolPage {
  readonly tools: readonly McpTool[]
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
 * could backtrack without limit, and an invalid one would fail the whole list. Plain requests avoid both.
 */
export async function toRequests(client: McpClient): Promise<McpRequests> {
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
        sdk.ListToolsResultSchema,
        {
          timeout
        }
      ),
    call: (params, options) => request({ method: 'tools/call', params }, sdk.CallToolResultSchema, options)
  }
}
