import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { Authenticate, Authorize } from './contract/principal.ts'
import type { RunLog } from './contract/run-log.ts'
import { REG_ERR_BAD_OPTION } from './errors.ts'
import type { EventBus } from './contract/event-bus.ts'
import type { Stores } from './contract/ports/stores.ts'
import { findFaults } from './schemas/find-faults.ts'
import { formatFaults } from './schemas/format-faults.ts'
import { millisecondsSchema } from './timers.ts'

/** Options of a registry. */
export const RegistryOptionsSchema = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        pattern: '^[\\w.~-]{1,64}$',
        description:
          'Separates its runs, sessions and memories from those of other registries; default `global`'
      })
    )
  },
  { additionalProperties: false }
)
export type RegistryOptions = Static<typeof RegistryOptionsSchema>

/** Limits of a run engine. */
export const EngineLimitsSchema = Type.Object(
  {
    maxRuns: Type.Optional(Type.Integer({ minimum: 1, description: 'Concurrent runs; default 1,000' })),
    maxRunsPerOwner: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Concurrent runs per owner, except anonymous; default 100' })
    ),
    maxLogBytes: Type.Optional(
      Type.Integer({ minimum: 1024, description: 'Bytes of one run’s log, as JSON; default 67,108,864' })
    )
  },
  { additionalProperties: false }
)

/** Retention of the in-process stores. */
export const RetentionSchema = Type.Object(
  {
    maxAge: Type.Optional(Type.Integer({ minimum: 0, description: 'Milliseconds; default 600,000' })),
    maxRuns: Type.Optional(Type.Integer({ minimum: 0, description: 'Default 10,000' })),
    maxBytes: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Bytes of all logs; default 268,435,456' })
    ),
    taskMaxBytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Characters of A2A messages and push configurations; default 67,108,864'
      })
    ),
    memoryMaxItems: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Memories of one owner and agent; default 1,000' })
    ),
    memoryMaxAge: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Milliseconds; default 365 days, 0: without limit' })
    )
  },
  { additionalProperties: false }
)

const port = Type.Object({})
const fn = Type.Function([], Type.Unknown())
const StoresSchema = Type.Object({
  runs: port,
  log: port,
  sessions: port,
  memory: port,
  tasks: port,
  checkpoints: port,
  control: port
})

/** Options of a run engine. */
const EngineOptionsSchema = Type.Object(
  {
    stores: Type.Optional(StoresSchema),
    events: Type.Optional(Type.Object({})),
    log: Type.Optional(Type.Object({})),
    limits: Type.Optional(EngineLimitsSchema),
    retention: Type.Optional(RetentionSchema),
    drainTimeout: Type.Optional(
      millisecondsSchema('Milliseconds that close() waits for runs; default 10,000', 0)
    ),
    resumeTimeout: Type.Optional(
      millisecondsSchema(
        'Milliseconds that a run which a restart left waits for its runnable; default 300,000',
        0
      )
    ),
    authenticate: Type.Optional(fn),
    authorize: Type.Optional(fn)
  },
  { additionalProperties: false }
)

/** Options of a run engine; every one has a default. */
export interface RunEngineOptions {
  /** Default: in memory. */
  stores?: Stores | undefined
  events?: EventBus | undefined
  /** Where faults go that belong to no request. */
  log?: RunLog | undefined
  limits?: EngineLimits | undefined
  /** Of the stores in memory; other stores have their own. */
  retention?: RetentionOptions | undefined
  /** Milliseconds that `close` waits for the runs under way; default 10,000. */
  drainTimeout?: number | undefined
  /** Milliseconds that a run which a restart left waits for its runnable; default 300,000. */
  resumeTimeout?: number | undefined
  /** Credentials → principal, for every surface without an `authenticate` of its own; default: everyone is anonymous. */
  authenticate?: Authenticate | undefined
  /**
   * Who may do what to which runnable, for every surface without an `authorize` of its own, and for guarded runs that resume
   * after their surface is gone: without it these may reach nothing.
   */
  authorize?: Authorize | undefined
}

/** What an engine does when its options do not say otherwise. Times are milliseconds. */
export const ENGINE_DEFAULTS = Object.freeze({
  maxRuns: 1_000,
  maxRunsPerOwner: 100,
  maxLogBytes: 67_108_864,
  drainTimeout: 10_000,
  resumeTimeout: 300_000
})

/** Options of the plugin. */
export const PluginOptionsSchema = Type.Composite(
  [
    Type.Object({ registry: Type.Optional(port) }),
    Type.Pick(EngineOptionsSchema, [
      'stores',
      'limits',
      'retention',
      'drainTimeout',
      'resumeTimeout',
      'authenticate',
      'authorize'
    ])
  ],
  { additionalProperties: false }
)
export type EngineLimits = Static<typeof EngineLimitsSchema>
export type RetentionOptions = Static<typeof RetentionSchema>

/**
 * Makes sure that options fit their schema: what is unknown or bad is an error that names it, with what was expected and the
 * type of what was given.
 * @throws the given error, whose message gets the faults, 5 at most; default REG_ERR_BAD_OPTION
 */
export function requireOptions(
  schema: TSchema,
  options: unknown,
  BadOption: new (faults: string) => Error = REG_ERR_BAD_OPTION
): void {
  const faults = findFaults(schema, options, { unknown: 'no such option' })
  if (faults.length > 0) throw new BadOption(formatFaults(faults))
}

/** The same for those of an engine, where an undefined one counts as not given. @throws REG_ERR_BAD_OPTION */
export function requireEngineOptions(options: RunEngineOptions): void {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  requireOptions(EngineOptionsSchema, Object.fromEntries(given))
}
