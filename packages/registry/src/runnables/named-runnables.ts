import type { Runnable, RunnableDefinition } from '../contract/runnable.ts'
import { defineRunnable, renameRunnable } from './define-runnable.ts'

/** Runnables by list, or by the name under which they are exposed. */
export type NamedRunnables =
  | readonly (Runnable | RunnableDefinition)[]
  | Readonly<Record<string, Runnable | RunnableDefinition>>

/**
 * The runnables that a list or a map gives, in its order; the key of a map is the name.
 * @throws REG_ERR_BAD_KIND, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function toRunnables(given: NamedRunnables): Runnable[] {
  if (isList(given)) return given.map(defineRunnable)
  return Object.entries(given).map(([name, definition]) => {
    const runnable = defineRunnable(definition)
    return name === runnable.name ? runnable : renameRunnable(runnable, name)
  })
}

function isList(given: NamedRunnables): given is readonly (Runnable | RunnableDefinition)[] {
  return Array.isArray(given)
}
