import type { CallToolResult, Server, Transport } from '@modelcontextprotocol/server'
import { getPrompt, listPrompts } from '../prompts/skill-prompts.ts'
import { listResources, readResource, RESOURCE_TEMPLATES } from '../resources/run-resources.ts'
import type { Surface } from '../surface.ts'
import { addTaskMethods } from '../tasks/task-methods.ts'
import { callTool } from '../tools/call-tool.ts'
import { listTools } from '../tools/list-tools.ts'
import type { Caller } from './caller.ts'
import { TASKS } from './caller.ts'
import { ToolServer } from './tool-server.ts'
import { toProtocolError } from './to-protocol-error.ts'

/** Creates the server for one request: its caller is known, and it keeps nothing. */
export function createServer(surface: Surface, caller: Caller): Server {
  const { name, title, version, instructions } = surface.settings
  const { isModern, principal } = caller
  // Before 2026-07-28, no stream reports changes.
  const changes = isModern && { listChanged: true }
  const server = new ToolServer(
    { name, version, ...(title !== undefined && { title }) },
    {
      capabilities: {
        tools: { ...changes },
        resources: {},
        prompts: { ...changes },
        ...(isModern && { extensions: { [TASKS]: {} } })
      },
      ...(instructions !== undefined && { instructions })
    }
  )
  const guard = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (err) {
      throw toProtocolError(err, caller.log)
    }
  }

  server.setRequestHandler('tools/list', () =>
    guard(listTools(surface, principal).then((tools) => ({ tools })))
  )
  server.setRequestHandler('tools/call', ({ params }, ctx) => {
    const client = { ...caller, send: sendOn(server) }
    // The result of a task is none of the official types.
    return guard(callTool(surface, client, params, ctx)) as Promise<CallToolResult>
  })
  server.setRequestHandler('resources/list', ({ params }) =>
    guard(listResources(surface, principal, params?.cursor))
  )
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: RESOURCE_TEMPLATES }))
  server.setRequestHandler('resources/read', ({ params }) =>
    guard(readResource(surface, principal, params.uri))
  )
  server.setRequestHandler('prompts/list', () =>
    guard(listPrompts(surface, principal).then((prompts) => ({ prompts })))
  )
  server.setRequestHandler('prompts/get', ({ params }) =>
    guard(getPrompt(surface, principal, params.name, params.arguments))
  )
  if (isModern) addTaskMethods(server, surface, caller)
  return server
}

// The official server waits for the answer of what it sends itself, and an answer may reach another node.
function sendOn(server: { readonly transport?: Transport | undefined }) {
  return (message: Parameters<Transport['send']>[0], { mcpReq }: { mcpReq: { id: string | number } }) => {
    // It fails only if the client has left, which the signal reports.
    server.transport?.send(message, { relatedRequestId: mcpReq.id }).catch(() => {})
  }
}
