import { REG_ERR_BAD_RUNNABLE, requireName, type Runnable, type RunnableDefinition } from '@svc/contract'
import { defineRunnable, renameRunnable } from './define-runnable.ts'

/** Runnables as a list, or by the name under which they are exposed. */
export type NamedRunnables =
  | readonly (Runnable | RunnableDefinition)[]
  | Readonly<Record<string, Runnable | RunnableDefinition>>

/**
 * Converts a list or a map to runnables, in its order. The key of a map replaces the runnable's own name.
 * @throws REG_ERR_BAD_KIND, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function toRunnables(given: NamedRunnables): Runnable[] {
  if (isList(given)) return given.map(defineRunnable)
  return namedEntries(given).map(([name, definition]) => {
    const runnable = defineRunnable(definition)
    return name === runnable.name ? runnable : renameRunnable(runnable, name)
  })
}

/**
 * The entries of a map whose keys are names of runnables; it must be a plain object, so that no inherited entry is overlooked.
 * @throws REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function namedEntries<T>(given: Readonly<Record<string, T>>): [name: string, value: T][] {
  const prototype: unknown = Object.getPrototypeOf(given)
  // The prototype of a plain object, of any realm, has no prototype itself.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new REG_ERR_BAD_RUNNABLE('expected a list, or a plain object whose own keys are the names')
  const entries = Object.entries(given)
  for (const [name] of entries) requireName(name)
  return entries
}

function isList(given: NamedRunnables): given is readonly (Runnable | RunnableDefinition)[] {
  return Array.isArray(given)
}
