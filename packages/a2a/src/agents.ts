import { toRunnables, type NamedRunnables, type Registry, type Runnable } from '@svc/registry'
import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** What this surface shows, by name: the given runnables, or else the agents of the registry, looked up anew each time. */
export interface Agents {
  get(name: string): Runnable | undefined
  list(): readonly Runnable[]
}

/** @throws A2A_ERR_BAD_OPTION */
export function createAgents(
  given: NamedRunnables | undefined,
  registry: Pick<Registry, 'get' | 'list'>
): Agents {
  if (given === undefined)
    return { get: (name) => registry.get('agent', name), list: () => registry.list('agent') }
  const byName = new Map<string, Runnable>()
  for (const runnable of requireRunnables(given)) {
    if (byName.has(runnable.name)) throw new A2A_ERR_BAD_OPTION(`agents: two are named "${runnable.name}"`)
    byName.set(runnable.name, runnable)
  }
  const all = [...byName.values()]
  return { get: (name) => byName.get(name), list: () => all }
}

function requireRunnables(given: NamedRunnables): Runnable[] {
  try {
    return toRunnables(given)
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`agents: ${(err as Error).message}`)
  }
}
