import type { RunnableKey, RunnableKind } from '../names.ts'

/** The runs that a surface shows: those of the listed runnables, and those of one registry. */
export interface RunScope {
  readonly runnables: readonly RunnableKey[]
  readonly registry?: RegistryScope
}

/** The runs of a registry, by its id; their runnables need not be registered now. */
export interface RegistryScope {
  readonly id: string
  readonly kinds: readonly RunnableKind[]
  /** Runnables that only other surfaces expose under this id. */
  readonly except: readonly Pick<RunnableKey, 'kind' | 'name'>[]
}

/** A runnable's key as one string; neither ids nor names contain a slash. */
export function runnableKeyText({ registry, kind, name }: RunnableKey): string {
  return `${registry}/${kind}/${name}`
}

/** Returns a predicate for the runs in a scope. */
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
