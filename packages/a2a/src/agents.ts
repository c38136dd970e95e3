import {
  NameFinder,
  namedEntries,
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
  /** The one that a text mentions first. */
  mentionedIn(text: string): Runnable | undefined
}

/** The given runnables, of any kind, or else the agents of the registry. @throws A2A_ERR_BAD_OPTION */
export function createAgents(
  given: NamedRunnables | undefined,
  registry: Pick<Registry, 'get' | 'list'>
): Agents {
  return withKinds(
    given === undefined ? agentsOf(registry) : named(asOption('agents', () => toRunnables(given)))
  )
}

/** One alone. */
export function onlyAgent(agent: Runnable): Agents {
  return withKinds(named([agent]))
}

type ByName = Pick<Agents, 'find' | 'all'>

function withKinds({ find, all }: ByName): Agents {
  let known: readonly string[] = []
  let finder = new NameFinder(known)
  return {
    find,
    all,
    mentionedIn(text) {
      const names = all().map(({ name }) => name)
      // They are the same from one message to the next.
      if (names.length !== known.length || names.some((name, index) => name !== known[index])) {
        known = names
        finder = new NameFinder(names)
      }
      const [mentioned] = finder.find(text)
      return mentioned === undefined ? undefined : find(mentioned)
    },
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
  for (const { name } of agents) requireNameOption('agents', name)
  mapByName(agents)
}

/** The entries of a map by name. @throws A2A_ERR_BAD_OPTION */
export function requireEntries<T>(agents: Readonly<Record<string, T>>): [name: string, agent: T][] {
  return asOption('agents', () => namedEntries(agents))
}

/** The name of a runnable that an option gives. @throws A2A_ERR_BAD_OPTION */
export function requireNameOption(option: string, name: unknown): string {
  return asOption(option, () => requireName(name))
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

function asOption<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`${option}: ${(err as Error).message}`)
  }
}
