import {
  requireName,
  toRunnables,
  type Exposed,
  type NamedRunnables,
  type Registry,
  type Runnable
} from '@svc/registry'
import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** What this surface shows, by name alone: messages name no kind. Looked up anew each time. */
export interface Agents extends Pick<Exposed, 'get'> {
  find(name: string): Runnable | undefined
  all(): readonly Runnable[]
}

/** The given runnables, of any kind, or else the agents of the registry. @throws A2A_ERR_BAD_OPTION */
export function createAgents(
  given: NamedRunnables | undefined,
  registry: Pick<Registry, 'get' | 'list'>
): Agents {
  return withKinds(given === undefined ? agentsOf(registry) : named(asOption(() => toRunnables(given))))
}

/** One alone. */
export function onlyAgent(agent: Runnable): Agents {
  return withKinds(named([agent]))
}

type ByName = Pick<Agents, 'find' | 'all'>

function withKinds({ find, all }: ByName): Agents {
  return {
    find,
    all,
    get(kind, name) {
      const found = find(name)
      return found?.kind === kind ? found : undefined
    }
  }
}

function agentsOf(registry: Pick<Registry, 'get' | 'list'>): ByName {
  return { find: (name) => registry.get('agent', name), all: () => registry.list('agent') }
}

/** Makes sure that each has a name that may name a runnable, and that no other has it. @throws A2A_ERR_BAD_OPTION */
export function requireNames(agents: readonly { readonly name: string }[]): void {
  for (const { name } of agents) asOption(() => requireName(name))
  mapByName(agents)
}

function named(runnables: readonly Runnable[]): ByName {
  const byName = mapByName(runnables)
  return { find: (name) => byName.get(name), all: () => runnables }
}

function mapByName<A extends { readonly name: string }>(agents: readonly A[]): ReadonlyMap<string, A> {
  const byName = new Map<string, A>()
  for (const agent of agents) {
    if (byName.has(agent.name)) throw new A2A_ERR_BAD_OPTION(`agents: two are named "${agent.name}"`)
    byName.set(agent.name, agent)
  }
  return byName
}

function asOption<T>(read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`agents: ${(err as Error).message}`)
  }
}
