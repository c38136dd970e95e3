import { Type, type TSchema } from '@sinclair/typebox'
import {
  codeOf,
  IdSchema,
  REQUIRED_PORTS,
  requireOptions,
  RunnableCardSchema,
  type Authorize,
  type Envelope,
  type EventBus,
  type Principal,
  type ReplyKind,
  type RunContext,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunnableCard,
  type RunnableKind,
  type RunnableMetadata,
  type Stores,
  type ToolCall,
  type YieldedPart
} from '@svc/contract'
import {
  createContext,
  globalRegistry,
  type CallerOptions,
  type ContextOptions,
  type Registry
} from '@svc/registry'
import { collectStream, hasCallerOptions, prepareStart } from '@svc/registry/engine'
import { RUN_ERR_BAD_CONTEXT } from '../errors.ts'
import type { PlainSchema } from '../schemas/compile-schema.ts'
import { partsAlone, reportRun, RunStream, type TypedRunResult } from './run-stream.ts'

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
        ...REQUIRED_PORTS,
        files: Type.Optional(port),
        browserStates: Type.Optional(port)
      })
    ),
    events: withMethods('on', 'has', 'emit'),
    // Checked with the input.
    metadata: anything,
    messages: anything,
    instructions: anything,
    tools: anything,
    toolChoice: anything,
    stop: anything,
    compactAt: anything
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
function toExecution(
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
  const context = (given ?? {}) as Partial<RunContext>
  const { child, step, sleep, authorize, onAbort, runId, sessionId, stores } = context
  const methods = [child, step, sleep, authorize, onAbort]
  return (
    methods.every((method) => typeof method === 'function') &&
    typeof runId === 'string' &&
    typeof sessionId === 'string' &&
    !!stores
  )
}

/** Options that agents, teams and workflows share. */
export interface BaseOptions {
  /** 1–128 characters; unique among the runnables of its kind in a registry. */
  name: string
  /** Shown to clients. */
  description?: string
  /** What agent cards and other discovery documents say of it. */
  card?: RunnableCard
  /** Whether its runs wait in the queue of their engine (`StartOptions.queue`); default false. */
  queue?: boolean
  /** How A2A replies to its messages: with a task, or with a message alone; default: as the A2A service says. */
  reply?: ReplyKind
  /** Whether it registers itself; default true. */
  register?: boolean
  /** The registry it joins; default: the global one. */
  registry?: Registry
  /** Replaces the runnable of its kind and name. */
  replace?: boolean
}

/** The schemas of `BaseOptions`. */
export const BASE_OPTIONS = {
  // Names have an error of their own.
  name: Type.Any(),
  description: Type.Optional(Type.String()),
  card: Type.Optional(RunnableCardSchema),
  queue: Type.Optional(Type.Boolean()),
  reply: Type.Optional(Type.Union([Type.Literal('task'), Type.Literal('message')])),
  register: Type.Optional(Type.Boolean()),
  registry: Type.Optional(
    Type.Object({ add: Type.Function([], Type.Unknown()), get: Type.Function([], Type.Unknown()) })
  ),
  replace: Type.Optional(Type.Boolean())
} satisfies Record<keyof BaseOptions, TSchema>

/** The JSON Schema of a structured answer, with its type. */
export interface OutputSchema<out Output> extends Readonly<PlainSchema> {
  /** For the type checker only. */
  readonly '~output'?: Output
}

/**
 * What agents, teams and workflows have in common: they register themselves, run with or without an engine, and report.
 * `Output` is the type of the answers they declare by a schema, `Structured` the one their results have, `Call` that of their tool
 * calls.
 */
export abstract class BaseRunnable<
  out Output = unknown,
  out Structured = Output,
  out Call extends ToolCall = ToolCall
> implements Runnable {
  abstract readonly kind: RunnableKind
  readonly #name: string
  readonly #description: string | undefined
  /** As in `Runnable`. */
  readonly queue: boolean | undefined
  /** As in `Runnable`. */
  readonly card: RunnableCard | undefined
  /** As in `Runnable`. */
  readonly reply: ReplyKind | undefined

  constructor({ description, queue, card, reply }: BaseOptions, name: string) {
    this.#name = name
    this.#description = description
    this.queue = queue
    this.card = card
    this.reply = reply
  }

  get name(): string {
    return this.#name
  }

  get description(): string | undefined {
    return this.#description
  }

  /** The schema of the input; undefined for a message. */
  get inputSchema(): TSchema | undefined {
    return undefined
  }

  /** Names of its tools, as far as they are known before a run. */
  get toolNames(): readonly string[] | undefined {
    return undefined
  }

  /** True if its tools are a function of the run, at least some. */
  get toolsVary(): boolean {
    return false
  }

  /** The schema of the structured answer; undefined where none is declared. */
  get outputSchema(): OutputSchema<Output> | undefined {
    return undefined
  }

  /**
   * Runs it: iterate the parts, or read `text` or `result` of what is returned. Leaving the parts early ends the run.
   * @param options of a run without an engine, or the context of an engine or a parent
   * @throws when it is read: RUN_ERR_BAD_CONTEXT, RUN_ERR_BAD_INPUT, errors of models and stores, the time-outs, the signal's reason
   */
  stream(input: RunInput, options?: RunOptions | RunContext): RunStream<Structured, Call> {
    try {
      const { input: taken, context } = toExecution(this, input, options)
      return new RunStream(this, context, () => reportRun(this, context, this.execute(taken, context)))
    } catch (err) {
      return new RunStream(this, { runId: '', sessionId: '' }, () => failing(err))
    }
  }

  /** Runs it and collects the parts. @throws the errors of `stream` */
  async run(input: RunInput, options?: RunOptions | RunContext): Promise<TypedRunResult<Structured, Call>> {
    const { input: taken, context } = toExecution(this, input, options)
    const result = await collectStream(this, partsAlone(this.stream(taken, context)), context)
    return result as TypedRunResult<Structured, Call>
  }

  /** Public metadata: never instructions or keys. */
  describe(): RunnableMetadata {
    const { kind, name, description, inputSchema, outputSchema } = this
    return {
      kind,
      name,
      ...(description !== undefined && { description }),
      ...this.details(),
      ...(inputSchema && { input: JSON.parse(JSON.stringify(inputSchema)) as unknown }),
      ...(outputSchema && { output: outputSchema })
    }
  }

  /** Joins a registry; the last act of a constructor. */
  protected join({ register = true, registry = globalRegistry, replace }: BaseOptions): void {
    if (register) registry.add(this, { replace })
  }

  /** The parts of one run; nothing is done before they are read. If they can be pushed (`PushedParts`), an engine has them pushed. */
  protected abstract execute(input: RunInput, context: RunContext): AsyncGenerator<YieldedPart, void>

  /** The metadata of its kind. */
  protected abstract details(): Partial<RunnableMetadata>
}

/** The structured answer a runnable declares by a schema; `unknown` where it declares none. */
export type DeclaredOutput<R> = R extends BaseRunnable<infer Output, unknown> ? Output : unknown

/** The structured answer in the results of a runnable; `unknown` where its type does not say. */
export type StructuredOf<R> = R extends {
  run(...args: never[]): PromiseLike<{ structured: infer Structured }>
}
  ? Exclude<Structured, null>
  : unknown

// oxlint-disable-next-line require-yield -- a stream reports every failure to its reader
async function* failing(err: unknown): AsyncGenerator<never, void> {
  throw err
}
