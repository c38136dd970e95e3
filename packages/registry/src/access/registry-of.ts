import { GLOBAL_REGISTRY } from '../contract/names.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { Registry } from '../registry.ts'
import { isSame } from '../runnables/runnable-identity.ts'

/** The id of a registry; a registry that the app implements may have none. */
export function idOf(registry: Registry): string {
  return (registry as Partial<Registry>).id ?? GLOBAL_REGISTRY
}

/** The first registry that has a runnable, under any name. */
export function registryOf(runnable: Runnable, registries: Iterable<Registry>): Registry | undefined {
  for (const registry of registries) if (has(registry, runnable)) return registry
  return undefined
}

function has(registry: Registry, runnable: Runnable): boolean {
  const { kind, name } = runnable
  const namesake = registry.get(kind, name)
  if (namesake !== undefined && isSame(namesake, runnable)) return true
  return registry.list(kind).some((each) => isSame(each, runnable))
}
