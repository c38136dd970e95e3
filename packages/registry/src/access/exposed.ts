import { RUNNABLE_KINDS } from '../contract/names.ts'
import { REG_ERR_BAD_OPTION } from '../errors.ts'
import { createRegistry, type Registry } from '../registry.ts'
import { toRunnables, type NamedRunnables } from '../runnables/named-runnables.ts'

/** The runnables that an entrance is given by name. */
export interface ExposedOptions {
  agents?: NamedRunnables | undefined
  teams?: NamedRunnables | undefined
  workflows?: NamedRunnables | undefined
}

/** What an entrance shows: the named runnables first, then those of the registry, looked up anew for every request. */
export type Exposed = Pick<Registry, 'get' | 'list' | 'remove'>

/** Joins the named runnables with a registry. @throws the given error, whose message gets the fault; default REG_ERR_BAD_OPTION */
export function createExposed(
  options: ExposedOptions,
  registry: Exposed | false,
  BadOption: new (fault: string) => Error = REG_ERR_BAD_OPTION
): Exposed {
  const named = createRegistry()
  for (const kind of RUNNABLE_KINDS) {
    try {
      for (const runnable of toRunnables(options[`${kind}s`] ?? [])) {
        if (runnable.kind !== kind) throw new Error(`"${runnable.name}" is of kind ${runnable.kind}`)
        named.add(runnable)
      }
    } catch (err) {
      throw new BadOption(`${kind}s: ${(err as Error).message}`)
    }
  }
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
