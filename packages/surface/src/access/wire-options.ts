import { Type, type TSchema, type TUnsafe } from '@sinclair/typebox'
import {
  defined,
  OnDisconnectSchema,
  optionsSchema,
  requireOptions,
  RUNNABLE_KINDS,
  type OnDisconnect,
  type Runnable
} from '@svc/contract'
import { REG_ERR_BAD_OPTION } from '@svc/contract/errors'
import { createRegistry, type NamedRunnables, type Registry } from '@svc/registry'
import {
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  toRunnables,
  type PolicyOptions
} from '@svc/registry/engine'
import type { RegisterOptions } from 'fastify'

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

/** The options of a wire over HTTP whose clients keep the conversation, and may have tools. */
export interface WireOptions extends PolicyOptions {
  /** Agents to expose, as a list or by name; looked up before the registry. */
  agents?: NamedRunnables
  /** Teams to expose. */
  teams?: NamedRunnables
  /** Workflows to expose. */
  workflows?: NamedRunnables
  /** Where else to look up runnables; `false`: nowhere; default `fastify.registry`. */
  registry?: Registry | false
  /** The URL of the prefix as clients reach it, behind a proxy that changes it; default: that of each request. */
  url?: string
  /** Whether runs take `instructions` of their clients; default that of `@svc/registry`, else `false`. */
  clientInstructions?: boolean
  /** Whether runs take `tools` that their clients serve; default that of `@svc/registry`, else `false`. */
  clientTools?: boolean
  /** What happens to a run whose client disconnects, unless its request says; default `continue`. */
  onDisconnect?: OnDisconnect
  /** Bytes of a body; default that of `@svc/registry`, else 10,485,760 where clients send the whole conversation, and 4,194,304 where they send messages to a session. */
  bodyLimit?: number
  /** Levels of objects and lists in a body; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
  /** Milliseconds between comments on a silent stream; default that of `@svc/registry`, else 10,000. */
  heartbeat?: number
}

/** The schemas of these options, for a wire that has more. */
export const WIRE_OPTIONS = {
  ...EXPOSED_OPTIONS,
  ...POLICY_OPTIONS,
  ...SHARED_OPTIONS,
  url: Type.String({ pattern: '^https?://[^\\s?#]+$' }),
  onDisconnect: OnDisconnectSchema
}
export const WireOptionsSchema = optionsSchema<WireOptions>(WIRE_OPTIONS)

/** What such wires have by default where others have less, since clients send the whole conversation. */
export const CONVERSATION_DEFAULTS = Object.freeze({ bodyLimit: 10_485_760 })

/** What wires have by default whose sessions the service keeps, so that a body has new messages only. */
export const SESSION_DEFAULTS = Object.freeze({ bodyLimit: 4_194_304 })

/**
 * Validates the options of a wire.
 * @param schema of a wire that has more options
 * @throws the given error, with the faults as its message
 */
export function resolveWireOptions(
  given: WireOptions & RegisterOptions,
  BadOption: new (faults: string) => Error,
  schema: TSchema = WireOptionsSchema
) {
  const { options, registerOptions } = splitRegisterOptions<WireOptions>(given)
  requireOptions(schema, options, BadOption)
  return { ...defined(options), registerOptions }
}
