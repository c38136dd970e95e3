import type { Client } from '@modelcontextprotocol/sdk/client/index.js'

/** The part of a client of the official MCP SDK that is used; it is connected already. */
export type McpClient = Pick<Client, 'listTools' | 'callTool'>

/** A tool of an MCP server. */
export type McpTool = Awaited<ReturnType<McpClient['listTools']>>['tools'][number]
