import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import {
  millisecondsSchema,
  requireOptions,
  type Answer,
  type Awaitable,
  type ClientCall,
  type CredentialsAnswer,
  type CredentialsRequest,
  type FinishReason,
  type PartOf,
  type Principal,
  type Question,
  type RunContext,
  type RunLog,
  type RunnableKind
} from '@svc/contract'
import { type MadeFile } from '@svc/registry/engine'
import { RUN_ERR_BAD_TOOL } from '../errors.ts'
import type { EndListener } from '../guards/guard.ts'
import { requireSandbox, type SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import {
  compileSchema,
  toModelSchema,
  type ArgsOf,
  type CompiledSchema,
  type PlainSchema,
  type Schema,
  type SchemaInput,
  type SchemaOutput,
  type Validate
} from '../schemas/compile-schema.ts'
import { wellFormed, type FromJson } from '../json/json.ts'
import type { ReferencedContent, ToolContent } from '../tool-calls/tool-outcome.ts'

/** The call a tool serves. */
export interface ToolContext {
  /** Aborts when the run ends, or when the tool takes longer than its `timeout`. */
  readonly signal: AbortSignal
  readonly principal: Principal
  readonly sessionId: string
  readonly runId: string
  readonly log: RunLog
  readonly toolCallId: string
  /** Equal for every attempt of this call: pass it on where an effect must not happen twice. */
  readonly idempotencyKey: string
  /** The run's own context. */
  readonly context: RunContext
  /** The agent whose call it is, or the team of the leader. */
  readonly runnable: { readonly kind: RunnableKind; readonly name: string }
  /** The step of the call, counted from 0. */
  readonly stepNumber: number
  /** The prompt that led to the call, without its instructions; shared, so do not change it. */
  readonly messages: readonly LanguageModelV4Message[]
  /** Runs untrusted code; undefined unless the tool asks for it with `sandbox`. */
  readonly sandbox: Sandbox | undefined
  /**
   * Asks the caller of the run a question, and waits for the answer, as `RunContext.ask` does. The wait does not count as time of
   * the call, and ends with it.
   * @throws RUN_ERR_BAD_QUESTION, or the reason why the run ended
   */
  ask<S extends TSchema = TSchema>(
    question: Omit<Question<S>, 'toolCallId' | 'durable'>
  ): Promise<Answer<Static<S>>>
  /**
   * Asks the owner of the run for credentials, as `RunContext.requestCredentials` does: only the returned answer has them, so do not
   * return them. The wait does not count as time of the call, and ends with it.
   * @throws RUN_ERR_BAD_QUESTION, or the reason why the run ended
   */
  requestCredentials<S extends TSchema = TSchema>(
    request: Omit<CredentialsRequest<S>, 'toolCallId' | 'durable'>
  ): Promise<CredentialsAnswer<Static<S>>>
  /**
   * Has a tool executed that the caller of the run serves, as `RunContext.callClient` does. The wait does not count as time of the
   * call, and ends with it.
   * @throws RUN_ERR_BAD_QUESTION, or the reason why the run ended
   */
  callClient(call: Omit<ClientCall, 'toolCallId' | 'durable'>): Promise<Answer>
  /**
   * Calls another tool as a part of this call: validated, approved, reported and limited in time like a call of the model.
   * It ends with the signal; default: with this call.
   * @throws the error the model would have seen, with its `code`
   */
  callTool(tool: Tool, args: unknown, signal?: AbortSignal): Promise<unknown>
  /** Adds a part to the log of the run before the result of the call: data for its readers, a source, a page. */
  emit(part: PartOf<'data' | 'citation' | 'browser.page'>): void
  /** Keeps a file in the file store of the run, and emits its `file` part; the model does not see it. */
  keepFile(file: Omit<MadeFile, 'toolCallId'>): Promise<PartOf<'file'>>
  /**
   * Calls `listener` once when the agent's run ends, however it ends: with the error that ended it, or undefined. The end of the
   * run waits for it, for at most 5 seconds. The returned function unsubscribes it.
   */
  onEnd(listener: EndListener): () => void
  /** Ends the run with an error that the model cannot correct. @throws the error */
  failRun(error: Error): never
  /** Ends the run after this step, with the text so far. */
  stopRun(finishReason: FinishReason): void
}

/** The result of `execute`: any value, or one that the tool's `outputSchema` accepts. */
export type ResultOf<Output> = Schema extends Output ? unknown : Awaitable<SchemaInput<Output>>

/** The schemas of a tool; `input` and `output` are their earlier names. */
export type ToolSchemas<Input extends Schema, Output extends Schema = Schema> = (
  | {
      /** The schema of the arguments, an object. Arguments are validated, never coerced; `execute` gets them transformed. */
      inputSchema: Input
      input?: never
    }
  | {
      /** `inputSchema` by its earlier name. */
      input: Input
      inputSchema?: never
    }
) &
  (
    | {
        /** The schema of the result, validated before the model sees it; default: any JSON. */
        outputSchema?: Output
        output?: never
      }
    | {
        /** `outputSchema` by its earlier name. */
        output?: Output
        outputSchema?: never
      }
  )

/** The options of a tool. */
export type ToolDefinition<
  Input extends Schema,
  Output extends Schema = Schema,
  Name extends string = string,
  Result extends ResultOf<Output> = ResultOf<Output>
> = ToolSchemas<Input, Output> & ToolSettings<Input, Name, Result>

/** The options of a tool but for its schemas. */
export interface ToolSettings<Input extends Schema, Name extends string = string, Result = unknown> {
  /** 1–64 letters, digits, `_` and `-`. */
  name: Name
  /** Shown to the model. */
  description: string
  /**
   * Does the work. The model gets the result as JSON, or an error with the message of what was thrown; RUN_ERR_REJECTED ends the run
   * instead.
   */
  execute(args: ArgsOf<Input>, context: ToolContext): Result
  /** Whether a call waits for an approval; overrides the agent's policy. */
  approval?: boolean | ((args: ArgsOf<Input>, context: ToolContext) => Awaitable<boolean>)
  /** Milliseconds until an unanswered approval counts as denied; default: the agent's `approvalTimeout`. */
  approvalTimeout?: number
  /**
   * True if a call may be repeated with the same `idempotencyKey`: after a crash of the service a call that was in progress is
   * repeated then; otherwise the model gets RUN_ERR_TOOL_INTERRUPTED, and decides. Default false.
   */
  idempotent?: boolean
  /**
   * True to keep it out of the prompt: the model finds it with `find_tools`, and calls it with `use_tool`. With it, both names are
   * reserved. Default false.
   */
  deferred?: boolean
  /** Milliseconds; default 60,000. */
  timeout?: number
  /** The most bytes of JSON in a result; default 262,144. */
  maxOutputBytes?: number
  /**
   * The `context.sandbox` of a tool that runs code given as text: the agent's or else the shared one (`default`), the same
   * but only if the system confines it (`required`), or this one.
   */
  sandbox?: SandboxChoice
}

const optional = (schema: TSchema) => Type.Optional(schema)
const functionSchema = Type.Function([], Type.Unknown())

export const ToolOptionsSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' }),
    description: Type.String(),
    execute: functionSchema,
    approval: optional(Type.Union([Type.Boolean(), functionSchema])),
    approvalTimeout: optional(millisecondsSchema("Default: the agent's")),
    idempotent: optional(Type.Boolean()),
    deferred: optional(Type.Boolean()),
    timeout: optional(millisecondsSchema('Default 60,000')),
    maxOutputBytes: optional(Type.Integer({ minimum: 1, description: 'Of its JSON; default 262,144' })),
    // Schemas and sandboxes have errors of their own.
    inputSchema: optional(Type.Any()),
    outputSchema: optional(Type.Any()),
    input: optional(Type.Any()),
    output: optional(Type.Any()),
    sandbox: optional(Type.Any())
  } satisfies Record<keyof ToolDefinition<Schema>, TSchema>,
  { additionalProperties: false }
)

/**
 * A tool, ready for agents. `Input` is what `execute` takes, `Output` the result of a call as the log, the model and `toolCalls` have
 * it: as JSON.
 */
export interface Tool<in Input = never, out Output = unknown, out Name extends string = string> {
  readonly name: Name
  readonly description: string
  /** The schema of the arguments as plain JSON. */
  readonly inputSchema: Readonly<PlainSchema>
  readonly validateInput: Validate
  readonly validateOutput: Validate | undefined
  readonly execute: (args: Input, context: ToolContext) => unknown
  readonly approval: boolean | ((args: Input, context: ToolContext) => Awaitable<boolean>) | undefined
  readonly approvalTimeout: number | undefined
  readonly idempotent: boolean
  /** True if it is not in the prompt. */
  readonly deferred?: true | undefined
  readonly timeout: number
  readonly maxOutputBytes: number
  readonly sandbox: SandboxChoice | undefined
  /** `client` if the caller of the run serves it. */
  readonly runsAt?: 'client' | undefined
  /** Of a tool that stands for others: the call to make instead of `execute`. @throws RUN_ERR_TOOL_UNKNOWN */
  readonly forwards?: ((args: never) => ForwardedCall) | undefined
  /** For the type checker only. */
  readonly '~output'?: Output
}

/** A call of the tool that another one stands for. */
export interface ForwardedCall {
  readonly tool: Tool
  readonly args: unknown
}

/** The result of a tool's calls: what its `outputSchema` makes of it, else what `execute` returns, as JSON; null for `undefined`. */
export type ToolOutput<Output extends Schema, Result> = Schema extends Output
  ? OutputOf<Awaited<Result>>
  : OutputOf<SchemaOutput<Output>>

type OutputOf<Result> = Result extends undefined | void
  ? null
  : Result extends ToolContent
    ? ReferencedContent
    : FromJson<Result>

/**
 * Makes a tool: one schema types its arguments, describes them to the model and validates them. TypeBox, Standard Schemas
 * (Zod, Valibot, ArkType) and JSON Schema do; the last one without types.
 * The tool runs in this process with a signal, a time-out and a bound on its result; that is no sandbox.
 * @throws RUN_ERR_BAD_TOOL, RUN_ERR_BAD_SANDBOX
 */
export function defineTool<
  Input extends Schema,
  Output extends Schema = Schema,
  const Name extends string = string,
  Result extends ResultOf<Output> = ResultOf<Output>
>(
  definition: ToolDefinition<Input, Output, Name, Result>
): Tool<ArgsOf<Input>, ToolOutput<Output, Result>, Name> {
  return createTool(definition, () =>
    compileSchema(
      (definition.inputSchema ?? definition.input)!,
      'the arguments',
      schemaError('input', definition.name)
    )
  )
}

/** `defineTool` with a validator of its own for the arguments. */
export function createTool<
  Input extends Schema,
  Output extends Schema,
  Name extends string,
  Result extends ResultOf<Output>
>(
  definition: ToolDefinition<Input, Output, Name, Result>,
  compileInput: () => CompiledSchema
): Tool<ArgsOf<Input>, ToolOutput<Output, Result>, Name> {
  requireOptions(ToolOptionsSchema, definition, RUN_ERR_BAD_TOOL)
  const {
    name,
    description,
    outputSchema,
    output = outputSchema,
    execute,
    approval,
    approvalTimeout,
    idempotent = false,
    deferred = false,
    timeout = 60_000,
    maxOutputBytes = 262_144,
    sandbox
  } = definition
  requireOneName(name, 'input', definition.inputSchema, definition.input)
  requireOneName(name, 'output', outputSchema, definition.output)
  requireSandbox(sandbox)
  const input = compileInput()
  if (input.plain['type'] !== 'object')
    throw new RUN_ERR_BAD_TOOL(`the input of "${name}" is not the schema of an object`)
  return Object.freeze({
    name,
    description: description.toWellFormed(),
    inputSchema: toModelSchema(wellFormed(input.plain)),
    validateInput: input.validate,
    validateOutput:
      output === undefined
        ? undefined
        : compileSchema(output, 'the result', schemaError('output', name)).validate,
    execute,
    approval,
    approvalTimeout,
    idempotent,
    ...(deferred && { deferred }),
    timeout,
    maxOutputBytes,
    sandbox
  })
}

function requireOneName(name: string, of: string, schema: unknown, earlier: unknown): void {
  if (schema !== undefined && earlier !== undefined)
    throw new RUN_ERR_BAD_TOOL(
      `"${name}" has both ${of}Schema and ${of}, which is its earlier name; give ${of}Schema alone`
    )
}

/** Makes the error of a bad schema of a tool. */
export function schemaError(of: 'input' | 'output', name: string): (fault: string) => Error {
  return (fault) => new RUN_ERR_BAD_TOOL(`the ${of} of "${name}" ${fault}`)
}
