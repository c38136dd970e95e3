import { toRunnables, type Exposed, type NamedRunnables, type Registry, type Runnable } from '@svc/registry'
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
  return withKinds(given === undefined ? agentsOf(registry) : named(requireRunnables(given)))
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

function named(runnables: readonly Runnable[]): ByName {
  const byName = new Map<string, Runnable>()
  for (const runnable of runnables) {
    if (byName.has(runnable.name)) throw new A2A_ERR_BAD_OPTION(`agents: two are named "${runnable.name}"`)
    byName.set(runnable.name, runnable)
  }
  return { find: (name) => byName.get(name), all: () => runnables }
}

function requireRunnables(given: NamedRunnables): Runnable[] {
  try {
    return toRunnables(given)
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`agents: ${(err as Error).message}`)
  }
}
