import { loadSdk, type McpClient, type McpTool } from './mcp-client.ts'

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
        sdk.PaginatedResultSchema,
        { timeout }
      ),
    call: (params, options) => request({ method: 'tools/call', params }, sdk.CallToolResultSchema, options)
  }
}
