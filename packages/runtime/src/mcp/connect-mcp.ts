import { RUN_ERR_MCP } from '../errors.ts'
import { messageOf } from '../json/tool-output.ts'
import { keepStderrTail, stderrTailOf } from './stderr-tail.ts'
import { loadSdk, type McpConnection } from './mcp-client.ts'
import { requireServer } from './mcp-options.ts'

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
