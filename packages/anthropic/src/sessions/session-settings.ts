import { ClientToolsSchema, checkOf, type ClientTool, type SessionSettings } from '@svc/contract'
import { requireCallerOptions, requireKept, type WireSurface } from '@svc/surface'
import type { Static } from '@sinclair/typebox'
import { ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_UNSUPPORTED } from '../errors.ts'
import type { GivenToolSchema } from './session-schemas.ts'

/** What a session keeps for its later turns. */
export interface ManagedSettings {
  readonly tools?: ClientTool[] | undefined
  readonly instructions?: string | undefined
  /** ISO 8601. */
  readonly archivedAt?: string | undefined
}

const NAME = 'managedAgents'

/** Reads the settings of a session, which other wires may have begun. */
export function readSettings(settings: SessionSettings | undefined): ManagedSettings {
  return settings?.[NAME] ?? {}
}

/** The settings of a session with those of this wire replaced. @throws ANTHROPIC_ERR_BAD_REQUEST if they are too large */
export function toSettings(earlier: SessionSettings | undefined, own: ManagedSettings): SessionSettings {
  const settings = { ...earlier, [NAME]: own }
  requireKept(settings, 'agent.system and agent.tools', ANTHROPIC_ERR_BAD_REQUEST)
  return settings
}

const areTools = checkOf(ClientToolsSchema)

/**
 * The tools that a client gives to the agent of a session.
 * @throws ANTHROPIC_ERR_UNSUPPORTED, ANTHROPIC_ERR_BAD_REQUEST, RUN_ERR_CLIENT_TOOLS
 */
export function toClientTools(
  surface: WireSurface,
  given: readonly Static<typeof GivenToolSchema>[] | undefined
): ClientTool[] | undefined {
  if (given === undefined || given.length === 0) return undefined
  const tools = given.map((tool) => {
    if (tool.type !== 'custom')
      throw new ANTHROPIC_ERR_UNSUPPORTED(`tools of the type "${tool.type}": the agent has its own`)
    const { name, description, input_schema: input } = tool
    return { name, description, input }
  })
  requireCallerOptions(surface, { tools })
  if (!areTools(tools))
    throw new ANTHROPIC_ERR_BAD_REQUEST('tools: a name, a description or a schema is not valid')
  return tools
}
