import { type ClientTool, type RunContext } from '@svc/contract'
import { RUN_ERR_INPUT_EXPIRED, RUN_ERR_TOOL_NAME_TAKEN } from '@svc/contract/errors'
import type { compileForeignSchema } from '@svc/contract/schemas'
import { RUN_ERR_TOOL_CANCELED, RUN_ERR_TOOL_DECLINED } from '../errors.ts'
import { ForeignCheck } from '../schemas/compile-schema.ts'
import { createTool, type Tool, type ToolContext } from './define-tool.ts'
import type { ToolSet } from './tool-set.ts'

/** Makes the tools that the caller of a run serves. */
export async function createClientTools({ clientTools }: Pick<RunContext, 'clientTools'>): Promise<Tool[]> {
  // Loaded lazily: few runs need its pattern engine.
  const { compileForeignSchema } = await import('@svc/contract/schemas')
  return clientTools.map((tool) => toTool(tool, compileForeignSchema))
}

/** Adds tools of the caller to those of the agent. @throws RUN_ERR_TOOL_NAME_TAKEN */
export function addClientTools(own: ToolSet, tools: readonly Tool[]): ToolSet {
  if (tools.length === 0) return own
  for (const { name } of tools) if (own.names.includes(name)) throw new RUN_ERR_TOOL_NAME_TAKEN(name)
  return own.with(tools)
}

function toTool({ name, description, input }: ClientTool, compile: typeof compileForeignSchema): Tool {
  const schema = new ForeignCheck(compile, input, { subject: 'the arguments' })
  const tool = createTool(
    {
      name,
      description,
      input,
      // The caller decides itself.
      approval: false,
      // The answer that the caller gave once counts.
      idempotent: true,
      execute: (args, context) => callClient(name, args, context)
    },
    () => ({
      plain: { ...input },
      validate(value) {
        const fault = schema.faultOf(value)
        return fault === undefined ? { value } : { fault }
      }
    })
  )
  return Object.freeze({ ...tool, runsAt: 'client' as const })
}

async function callClient(toolName: string, args: unknown, call: ToolContext): Promise<unknown> {
  const { action, content, expired } = await call.callClient({ toolName, args })
  if (action === 'accept') return content
  if (expired === true) throw new RUN_ERR_INPUT_EXPIRED()
  throw action === 'decline' ? new RUN_ERR_TOOL_DECLINED() : new RUN_ERR_TOOL_CANCELED()
}
