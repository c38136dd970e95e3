import {
  NameFinder,
  namedEntries,
  requireName,
  RUNNABLE_KINDS,
  toRunnables,
  type Exposed,
  type NamedRunnables,
  type Runnable
} from '@svc/registry'
import { A2A_ERR_BAD_OPTION } from './errors.ts'

/** What this surface shows, by name alone: messages name no kind. Looked up anew each time. */
export interface Agents extends Pick<Exposed, 'shows' | 'scope' | 'startOptions' | 'registries'> {
  find(name: string): Runnable | undefined
  all(): readonly Runnable[]
  /** The one that a text mentions first. */
  mentionedIn(text: string): Runnable | undefined
}

/** The runnables that are given, of any kind. @throws A2A_ERR_BAD_OPTION */
export function listAgents(given: NamedRunnables): Runnable[] {
  const agents = asOption('agents', () => toRunnables(given))
  requireNames(agents)
  return agents
}

/** What is exposed, whatever its kind. */
export function createAgents(exposed: Exposed): Agents {
  const byName: ByName = {
    all: () => exposed.list(),
    find(name) {
      for (const kind of RUNNABLE_KINDS) {
        const agent = exposed.get(kind, name)
        if (agent !== undefined) return agent
      }
      return undefined
    }
  }
  return {
    ...byName,
    mentionedIn: createMention(byName),
    shows: (run) => exposed.shows(run),
    scope: () => exposed.scope(),
    startOptions: (agent) => exposed.startOptions(agent),
    registries: () => exposed.registries()
  }
}

/** One of them alone. */
export function onlyAgent(agent: Runnable, all: Agents): Agents {
  const { kind, name } = agent
  const start = all.startOptions(agent)
  const { registry } = start
  const byName: ByName = { all: () => [agent], find: (asked) => (asked === name ? agent : undefined) }
  return {
    ...byName,
    mentionedIn: createMention(byName),
    shows: (run) => run.registry === registry && run.kind === kind && run.name === name,
    scope: () => ({ runnables: [{ registry, kind, name }] }),
    startOptions: () => start,
    registries: () => [registry]
  }
}

type ByName = Pick<Agents, 'find' | 'all'>

function createMention({ find, all }: ByName): Agents['mentionedIn'] {
  let known: readonly string[] = []
  let finder = new NameFinder(known)
  return (text) => {
    const names = all().map(({ name }) => name)
    // They are the same from one message to the next.
    if (names.length !== known.length || names.some((name, index) => name !== known[index])) {
      known = names
      finder = new NameFinder(names)
    }
    const [mentioned] = finder.find(text)
    return mentioned === undefined ? undefined : find(mentioned)
  }
}

/** Makes sure that each has a name that may name a runnable, and that no other has it. @throws A2A_ERR_BAD_OPTION */
export function requireNames(agents: readonly { readonly name: string }[]): void {
  const names = new Set<string>()
  for (const { name } of agents) {
    requireNameOption('agents', name)
    if (names.has(name)) throw new A2A_ERR_BAD_OPTION(`agents: two are named "${name}"`)
    names.add(name)
  }
}

/** The entries of a map by name. @throws A2A_ERR_BAD_OPTION */
export function requireEntries<T>(agents: Readonly<Record<string, T>>): [name: string, agent: T][] {
  return asOption('agents', () => namedEntries(agents))
}

/** The name of a runnable that an option gives. @throws A2A_ERR_BAD_OPTION */
export function requireNameOption(option: string, name: unknown): string {
  return asOption(option, () => requireName(name))
}

function asOption<T>(option: string, read: () => T): T {
  try {
    return read()
  } catch (err) {
    throw new A2A_ERR_BAD_OPTION(`${option}: ${(err as Error).message}`)
  }
}
