import { Type } from '@sinclair/typebox'
import { createContext, type CallerOptions, type ContextOptions } from '@svc/registry'
import {
  codeOf,
  IdSchema,
  requireOptions,
  type Authorize,
  type Envelope,
  type EventBus,
  type Principal,
  type RunContext,
  type RunInput,
  type RunLog,
  type Runnable,
  type Stores
} from '@svc/contract'
import { hasCallerOptions, prepareStart } from '@svc/registry/engine'
import { hasMethods } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_CONTEXT } from '../errors.ts'

/** The options of a run in a script or a test, without a run engine. Tools of the caller need an engine: without one a call is canceled. */
export interface RunOptions extends CallerOptions {
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
const anything = Type.Optional(Type.Any())
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
        files: Type.Optional(port),
        browserStates: Type.Optional(port)
      })
    ),
    events: withMethods('on', 'has', 'emit'),
    // Checked with the input.
    ...{ metadata: anything, messages: anything, instructions: anything, tools: anything },
    ...{ toolChoice: anything, stop: anything }
  } satisfies Record<keyof RunOptions, unknown>,
  { additionalProperties: false }
)

/** What a runnable executes. */
export interface Execution {
  readonly input: RunInput
  readonly context: RunContext
}

/**
 * The input and context of a run: those of an engine or a parent, or new ones from options.
 * @throws RUN_ERR_BAD_CONTEXT, RUN_ERR_BAD_INPUT, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN
 */
export function toExecution(
  runnable: Runnable,
  input: RunInput,
  given: RunContext | RunOptions | undefined
): Execution {
  if (given === undefined) return { input, context: createContext() }
  try {
    if (isContext(given)) return { input, context: given }
    requireOptions(RunOptionsSchema, given, RUN_ERR_BAD_CONTEXT)
    // The runnable checks an input alone itself.
    const prepared = hasCallerOptions(given)
      ? prepareStart(runnable, input, given)
      : { input, options: given }
    return { input: prepared.input, context: createContext(prepared.options) }
  } catch (err) {
    if (codeOf(err) !== undefined) throw err
    // A getter or a Proxy that throws.
    throw Object.assign(new RUN_ERR_BAD_CONTEXT('an option cannot be read'), { cause: err })
  }
}

function isContext(given: RunContext | RunOptions): given is RunContext {
  if (!hasMethods(given, ['child', 'step', 'sleep', 'authorize', 'onAbort'])) return false
  const { runId, sessionId, stores } = given as Partial<RunContext>
  return typeof runId === 'string' && typeof sessionId === 'string' && !!stores
}
