import { Type, type TUnsafe } from '@sinclair/typebox'
import { REG_ERR_BAD_OPTION, RUNNABLE_KINDS, type Runnable } from '@svc/contract'
import { createRegistry, type NamedRunnables, type Registry } from '@svc/registry'
import { toRunnables } from '@svc/registry/engine'

const anything = Type.Unknown()
const fn = Type.Function([], anything)

/** The schema of an option that lists runnables. */
export function namedRunnablesSchema(description: string): TUnsafe<NamedRunnables> {
  return Type.Unsafe<NamedRunnables>(
    Type.Union([Type.Array(anything), Type.Record(Type.String(), anything)], { description })
  )
}

const named = (kind: string) =>
  Type.Optional(
    namedRunnablesSchema(`${kind} to expose, as a list or by name; looked up before the registry`)
  )

/** The schemas of the options that select what a surface exposes; `listNamed` reads them. */
export const EXPOSED_OPTIONS = {
  agents: named('Agents'),
  teams: named('Teams'),
  workflows: named('Workflows'),
  registry: Type.Optional(
    Type.Unsafe<Registry | false>(
      Type.Union([Type.Literal(false), Type.Object({ get: fn, list: fn })], {
        description: 'The registry to look up other runnables in; `false`: none; default `fastify.registry`'
      })
    )
  )
}

/** The runnables given to a surface in its options. */
export interface ExposedOptions {
  agents?: NamedRunnables | undefined
  teams?: NamedRunnables | undefined
  workflows?: NamedRunnables | undefined
}

/** Lists the runnables in these options. @throws the given error, with the fault as its message; default REG_ERR_BAD_OPTION */
export function listNamed(
  options: ExposedOptions,
  BadOption: new (fault: string) => Error = REG_ERR_BAD_OPTION
): Runnable[] {
  const all = createRegistry()
  for (const kind of RUNNABLE_KINDS) {
    try {
      for (const runnable of toRunnables(options[`${kind}s`] ?? [])) {
        if (runnable.kind !== kind) throw new Error(`"${runnable.name}" is of kind ${runnable.kind}`)
        all.add(runnable)
      }
    } catch (err) {
      throw new BadOption(`${kind}s: ${(err as Error).message}`)
    }
  }
  return all.list()
}
