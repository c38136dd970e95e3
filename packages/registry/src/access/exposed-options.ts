import { Type, type TUnsafe } from '@sinclair/typebox'
import type { Registry } from '../registry.ts'
import type { NamedRunnables } from '../runnables/named-runnables.ts'

const anything = Type.Unknown()
const fn = Type.Function([], anything)

/** The schema of an option that names runnables. */
export function namedRunnablesSchema(description: string): TUnsafe<NamedRunnables> {
  return Type.Unsafe<NamedRunnables>(
    Type.Union([Type.Array(anything), Type.Record(Type.String(), anything)], { description })
  )
}

const named = (kind: string) =>
  Type.Optional(
    namedRunnablesSchema(`${kind} to expose, as a list or by name; looked up before the registry`)
  )

/** The schemas of the options that say what an entrance exposes; `createExposed` takes these options. */
export const EXPOSED_OPTIONS = {
  agents: named('Agents'),
  teams: named('Teams'),
  workflows: named('Workflows'),
  registry: Type.Optional(
    Type.Unsafe<Registry | false>(
      Type.Union([Type.Literal(false), Type.Object({ get: fn, list: fn })], {
        description: 'Where else to look up runnables; `false`: nowhere; default `fastify.registry`'
      })
    )
  )
}
