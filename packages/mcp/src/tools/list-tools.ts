import type { Principal, Runnable } from '@svc/contract'
import { isHashed } from '../protocol/client-name.ts'
import type { Tool } from '../protocol/results.ts'
import type { Surface } from '../surface.ts'
import { inputSchemaOf, isObjectSchema } from './tool-input.ts'
import { toToolName } from './tool-name.ts'

/** The tools that a caller may see: one for each exposed runnable that the caller may read. */
export async function listTools(surface: Surface, principal: Principal): Promise<Tool[]> {
  const tools: Tool[] = []
  for (const runnable of surface.exposed.list()) {
    const { kind, name } = runnable
    const { allowed } = await surface.policy.authorize(principal, 'read', { kind, name })
    if (allowed) tools.push(toTool(runnable))
  }
  return tools
}

function toTool(runnable: Runnable): Tool {
  const name = toToolName(runnable)
  const { description, card, kind } = runnable
  const { output } = runnable.describe()
  // A name that had to be changed is shown as it is.
  const title = card?.title ?? (isHashed(name) ? runnable.name : undefined)
  return {
    name,
    ...(title !== undefined && { title }),
    description: description ?? `The ${kind} "${runnable.name}"`,
    inputSchema: inputSchemaOf(runnable),
    ...(isObjectSchema(output) && { outputSchema: output }),
    ...(card?.iconUrl !== undefined && { icons: [{ src: card.iconUrl }] }),
    annotations: { ...(title !== undefined && { title }), openWorldHint: true }
  }
}
