import { Type } from '@sinclair/typebox'
import {
  createContext,
  type Authorize,
  type ContextOptions,
  type Envelope,
  type EventBus,
  type Principal,
  type RunContext,
  type RunLog,
  type Stores
} from '@svc/registry'
import { codeOf, IdSchema, requireOptions } from '@svc/registry/kit'
import { hasMethods } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_CONTEXT } from '../errors.ts'

/** The options of a run in a script or a test, without a run engine. */
export interface RunOptions {
  /** The conversation it continues; default: a new one. Without `stores`, sessions are kept in memory. */
  sessionId?: string
  /** Separates the sessions and memories of users where there is no `principal`. */
  userId?: string
  /** The caller; default anonymous. */
  principal?: Principal
  /** Cancels the run. */
  signal?: AbortSignal
  /** Default: a random one. */
  runId?: string
  /** The caller's own keys for model providers. */
  apiKey?: NonNullable<ContextOptions['apiKey']>
  /** The policy for members of teams with `delegates: false`; default: everything is allowed. */
  authorize?: Authorize
  /** Client metadata around the input. */
  envelope?: Envelope
  /** Default: nothing is logged. */
  log?: RunLog
  /** Default: in memory, shared by all runs without an engine. */
  stores?: Stores
  /** Default: `events` of this package. */
  events?: EventBus
}

const object = Type.Optional(Type.Object({}))
const id = Type.Optional(IdSchema)
const anyFunction = Type.Function([], Type.Unknown())
const functionSchema = Type.Optional(anyFunction)
const withMethods = (...names: string[]) =>
  Type.Optional(Type.Object(Object.fromEntries(names.map((name) => [name, anyFunction]))))
const port = Type.Object({})

const RunOptionsSchema = Type.Object(
  {
    sessionId: id,
    userId: id,
    principal: Type.Optional(
      Type.Object({ sub: Type.String({ minLength: 1 }), scopes: Type.Array(Type.String()) })
    ),
    signal: Type.Optional(Type.Object({ aborted: Type.Boolean(), addEventListener: anyFunction })),
    runId: id,
    apiKey: functionSchema,
    authorize: functionSchema,
    envelope: object,
    log: withMethods('debug', 'info', 'warn', 'error'),
    stores: Type.Optional(
      Type.Object({
        ...{ runs: port, log: port, sessions: port, memory: port },
        ...{ tasks: port, checkpoints: port, control: port },
        files: Type.Optional(port)
      })
    ),
    events: withMethods('on', 'has', 'emit')
  } satisfies Record<keyof RunOptions, unknown>,
  { additionalProperties: false }
)

/** The context of a run: the one of an engine or a parent, or a new one from options. @throws RUN_ERR_BAD_CONTEXT */
export function toContext(given: RunContext | RunOptions | undefined): RunContext {
  if (given === undefined) return createContext()
  try {
    if (isContext(given)) return given
    requireOptions(RunOptionsSchema, given, RUN_ERR_BAD_CONTEXT)
    return createContext(given)
  } catch (err) {
    if (codeOf(err) !== undefined) throw err
    // A getter or a Proxy that throws.
    throw Object.assign(new RUN_ERR_BAD_CONTEXT('an option cannot be read'), { cause: err })
  }
}

function isContext(given: RunContext | RunOptions): given is RunContext {
  if (!hasMethods(given, ['child', 'step', 'sleep', 'authorize'])) return false
  const { runId, sessionId, signal, stores } = given as Partial<RunContext>
  return [runId, sessionId].every((each) => typeof each === 'string') && !!signal && !!stores
}
