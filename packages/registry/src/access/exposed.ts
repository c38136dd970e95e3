import { RUNNABLE_KINDS, type RunnableKind } from '../contract/names.ts'
import type { Runnable, RunnableDefinition } from '../contract/runnable.ts'
import { REG_ERR_BAD_OPTION } from '../errors.ts'
import { createRegistry, type Registry } from '../registry.ts'
import { defineRunnable } from '../runnables/define-runnable.ts'

/** Runnables by list, or by the name under which they are exposed. */
export type NamedRunnables =
  | readonly (Runnable | RunnableDefinition)[]
  | Readonly<Record<string, Runnable | RunnableDefinition>>

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
      addNamed(named, kind, options[`${kind}s`] ?? [])
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

function addNamed(named: Registry, kind: RunnableKind, given: NamedRunnables): void {
  for (const [name, definition] of entriesOf(given)) {
    const runnable = defineRunnable(definition)
    if (runnable.kind !== kind) throw new Error(`"${runnable.name}" is of kind ${runnable.kind}`)
    named.add(name === undefined || name === runnable.name ? runnable : renamed(runnable, name))
  }
}

function entriesOf(given: NamedRunnables): [name: string | undefined, Runnable | RunnableDefinition][] {
  return isList(given) ? given.map((each) => [undefined, each]) : Object.entries(given)
}

function isList(given: NamedRunnables): given is readonly (Runnable | RunnableDefinition)[] {
  return Array.isArray(given)
}

// The key of a map is the name; a class with private fields can only be asked, not copied.
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
