import { NameFinder, RUNNABLE_KINDS, type Awaitable, type Runnable } from '@svc/contract'
import { toRunnables, type Exposed, type NamedRunnables } from '@svc/surface'
import { checkOption, requireNames } from '../option-checks.ts'

/** The exposed runnables, by name alone: messages name no kind. Every call looks them up again. */
export interface Agents extends Pick<Exposed, 'shows' | 'scope' | 'startOptions' | 'registries'> {
  find(name: string): Awaitable<Runnable | undefined>
  all(): readonly Runnable[]
  /** The agent that a text mentions first. */
  mentionedIn(text: string): Awaitable<Runnable | undefined>
}

/** The runnables of the option `agents`. @throws A2A_ERR_BAD_OPTION */
export function listAgents(given: NamedRunnables): Runnable[] {
  const agents = checkOption('agents', () => toRunnables(given))
  requireNames(agents)
  return agents
}

/** Finds exposed runnables by name, whatever their kind. */
export function createAgents(exposed: Exposed): Agents {
  const byName: ByName = {
    all: () => exposed.list(),
    find: (name) => exposed.find(RUNNABLE_KINDS, name)
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

/** The same with one agent only. */
export function onlyAgent(agent: Runnable, all: Agents): Agents {
  const { kind, name } = agent
  const start = all.startOptions(agent)
  const { registry } = start
  const byName: ByName = { all: () => [agent], find: (wanted) => (wanted === name ? agent : undefined) }
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
    // Rebuilt only when the names change.
    if (names.length !== known.length || names.some((name, index) => name !== known[index])) {
      known = names
      finder = new NameFinder(names)
    }
    const [mentioned] = finder.find(text)
    return mentioned === undefined ? undefined : find(mentioned)
  }
}
