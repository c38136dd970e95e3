import type { Runnable, RunnableDefinition } from '../contract/runnable.ts'
import { defineRunnable } from './define-runnable.ts'

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
    return name === runnable.name ? runnable : renamed(runnable, name)
  })
}

function isList(given: NamedRunnables): given is readonly (Runnable | RunnableDefinition)[] {
  return Array.isArray(given)
}

// A class with private fields can only be asked, not copied.
function renamed(runnable: Runnable, name: string): Runnable {
  const { kind, description, inputSchema, resumable } = runnable
  return {
    kind,
    name,
    description,
    inputSchema,
    resumable,
    stream: (input, context) => runnable.stream(input, context),
    run: (input, context) => runnable.run(input, context),
    describe: () => ({ ...runnable.describe(), name })
  }
}
