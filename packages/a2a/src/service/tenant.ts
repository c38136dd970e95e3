import type { Runnable } from '@svc/contract'
import { badParams } from '../wire/decode-params.ts'
import { onlyAgent } from './agents.ts'
import type { Surface } from './surface.ts'

/** The service as requests of a tenant see it: with that agent only. @throws A2A_ERR_BAD_PARAMS */
export function toTenant(surface: Surface, name: string): Surface {
  const { exposed, buildCard } = surface
  const agent = exposed.find(name) ?? refuseAgent('tenant', name, exposed.all())
  return {
    ...surface,
    exposed: onlyAgent(agent, exposed),
    tenant: agent.name,
    buildCard: (origin) => buildCard(origin, agent)
  }
}

/** The service at the endpoint of one agent: with that agent only, in every version. @throws A2A_ERR_BAD_PARAMS */
export function toOwnSurface(surface: Surface, name: string): Surface {
  const { exposed } = surface
  const agent = exposed.find(name) ?? refuseAgent('agent', name, exposed.all())
  return {
    ...surface,
    exposed: onlyAgent(agent, exposed),
    tenant: agent.name,
    ...surface.atEndpointOf(agent)
  }
}

/** Refuses an unknown agent, and lists the known ones. @throws A2A_ERR_BAD_PARAMS */
export function refuseAgent(field: string, name: string, all: readonly Runnable[]): never {
  const known = all.map((agent) => `"${agent.name}"`).join(', ')
  throw badParams(field, `No agent "${name.slice(0, 128)}"; known: ${known || 'none'}`)
}
