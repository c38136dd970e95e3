import { andThen, type Awaitable, type Runnable } from '@svc/contract'
import { badParams } from '../wire/decode-params.ts'
import { onlyAgent } from './agents.ts'
import type { Surface } from './surface.ts'

/** The service as requests of a tenant see it: with that agent only. @throws A2A_ERR_BAD_PARAMS */
export function toTenant(surface: Surface, name: string): Awaitable<Surface> {
  const { buildCard } = surface
  return narrow(surface, 'tenant', name, (agent) => ({ buildCard: (origin) => buildCard(origin, agent) }))
}

/** The service at the endpoint of one agent: with that agent only, in every version. @throws A2A_ERR_BAD_PARAMS */
export function toOwnSurface(surface: Surface, name: string): Awaitable<Surface> {
  return narrow(surface, 'agent', name, surface.atEndpointOf)
}

function narrow(
  surface: Surface,
  field: string,
  name: string,
  own: (agent: Runnable) => Partial<Surface>
): Awaitable<Surface> {
  const { exposed } = surface
  const found = exposed.find(name)
  return andThen(found, toSurface)

  function toSurface(agent: Runnable | undefined): Surface {
    if (agent === undefined) return refuseAgent(field, name, exposed.all())
    return { ...surface, exposed: onlyAgent(agent, exposed), tenant: agent.name, ...own(agent) }
  }
}

/** Refuses an unknown agent, and lists the known ones. @throws A2A_ERR_BAD_PARAMS */
export function refuseAgent(field: string, name: string, all: readonly Runnable[]): never {
  const known = all.map((agent) => `"${agent.name}"`).join(', ')
  throw badParams(field, `No agent "${name.slice(0, 128)}"; known: ${known || 'none'}`)
}
