import type { Principal, Runnable } from '@svc/registry'
import type { Tool } from '../protocol/results.ts'
import type { Surface } from '../surface.ts'
import { inputSchemaOf, isObjectSchema } from './tool-input.ts'
import { toToolName } from './tool-name.ts'

/** The tools that a caller may see: one for each exposed runnable that the caller may read. */
export async function listTools(surface: Surface, principal: Principal): Promise<Tool[]> {
  const tools: Tool[] = []
  for (const runnable of surface.exposed.list()) {
    const tool = toTool(runnable)
    if (tool === undefined) continue
    const { kind, name } = runnable
    const { allowed } = await surface.policy.authorize(principal, 'read', { kind, name })
    if (allowed) tools.push(tool)
  }
  return tools
}

/** Describes a runnable as a tool; undefined if its name is none of a tool. */
function toTool(runnable: Runnable): Tool | undefined {
  const name = toToolName(runnable)
  if (name === undefined) return undefined
  const { description, card, kind } = runnable
  const { output } = runnable.describe()
  return {
    name,
    ...(card?.title !== undefined && { title: card.title }),
    description: description ?? `The ${kind} "${runnable.name}"`,
    inputSchema: inputSchemaOf(runnable),
    ...(isObjectSchema(output) && { outputSchema: output }),
    ...(card?.iconUrl !== undefined && { icons: [{ src: card.iconUrl }] }),
    annotations: { ...(card?.title !== undefined && { title: card.title }), openWorldHint: true }
  }
}
