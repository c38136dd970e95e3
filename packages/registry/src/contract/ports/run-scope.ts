import type { RunnableKey, RunnableKind } from '../names.ts'

/** Which runs a surface shows: those of some runnables, and those of one registry. */
export interface RunScope {
  readonly runnables: readonly RunnableKey[]
  readonly registry?: RegistryScope
}

/** The runs of a registry's id, whether or not their runnables are registered now. */
export interface RegistryScope {
  readonly id: string
  readonly kinds: readonly RunnableKind[]
  /** Runnables that only others expose under this id. */
  readonly except: readonly Pick<RunnableKey, 'kind' | 'name'>[]
}

/** One text for a runnable: neither ids nor names have a slash. */
export function runnableKeyText({ registry, kind, name }: RunnableKey): string {
  return `${registry}/${kind}/${name}`
}

/** A test whether a run is in a scope. */
export function createScopeFilter({ runnables, registry }: RunScope): (run: RunnableKey) => boolean {
  const keys = new Set(runnables.map(runnableKeyText))
  if (registry === undefined) return (run) => keys.has(runnableKeyText(run))
  const { id, kinds } = registry
  const except = new Set(
    registry.except.map(({ kind, name }) => runnableKeyText({ registry: id, kind, name }))
  )
  return (run) => {
    const key = runnableKeyText(run)
    return keys.has(key) || (run.registry === id && kinds.includes(run.kind) && !except.has(key))
  }
}
