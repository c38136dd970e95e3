import { Server, type JSONRPCRequest, type Result, type ServerContext } from '@modelcontextprotocol/server'

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>

/** The official server, of which a call of a tool may end with a task: the official one knows no results of extensions. */
export class ToolServer extends Server {
  // oxlint-disable no-underscore-dangle -- the official class names it so
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method !== 'tools/call') return super._wrapHandler(method, handler)
    return async (request, ctx) => {
      let task: Result | undefined
      const wrapped = super._wrapHandler(method, async (asked, context) => {
        const result = await handler(asked, context)
        if (result['resultType'] !== 'task') return result
        task = result
        return { content: [] }
      })
      const result = await wrapped(request, ctx)
      return task ?? result
    }
  }
}
