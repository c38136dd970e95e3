import {
  createRegistry,
  RUNNABLE_KINDS,
  toRunnables,
  type NamedRunnables,
  type Registry,
  type RunnableKind
} from '@svc/registry'
import { HTTP_ERR_BAD_OPTION } from './errors.ts'
import type { HttpOptions } from './options.ts'

/** What this surface shows: the named runnables first, then those of the registry, looked up anew for every request. */
export type Exposed = Pick<Registry, 'get' | 'list' | 'remove'>

/** Joins the named runnables with a registry. @throws HTTP_ERR_BAD_OPTION */
export function createExposed(
  options: Pick<HttpOptions, 'agents' | 'teams' | 'workflows'>,
  registry: Exposed | false
): Exposed {
  const named = createRegistry()
  for (const kind of RUNNABLE_KINDS) addNamed(named, kind, options[`${kind}s`] ?? [])
  if (registry === false) return named
  return {
    get: (kind, name) => named.get(kind, name) ?? registry.get(kind, name),
    remove: (kind, name) => named.remove(kind, name) || registry.remove(kind, name),
    list(kind) {
      const others = registry.list(kind).filter((each) => named.get(each.kind, each.name) === undefined)
      return [...named.list(kind), ...others]
    }
  }
}

function addNamed(named: Registry, kind: RunnableKind, given: NamedRunnables): void {
  try {
    for (const runnable of toRunnables(given)) {
      if (runnable.kind !== kind) throw new Error(`"${runnable.name}" is of kind ${runnable.kind}`)
      named.add(runnable)
    }
  } catch (err) {
    throw new HTTP_ERR_BAD_OPTION(`${kind}s: ${(err as Error).message}`)
  }
}
