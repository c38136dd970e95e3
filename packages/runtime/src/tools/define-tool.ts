import type { Static, TSchema } from '@sinclair/typebox'
import { requireOptions, type Awaitable, type Principal, type RunContext, type RunLog } from '@svc/registry'
import { RUN_ERR_BAD_TOOL } from '../errors.ts'
import { ToolOptionsSchema } from '../options.ts'
import { requireSandbox, type SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { compileInput } from './compile-input.ts'
import type { CheckValue } from './compile-schema.ts'
import { toPlainSchema, type JsonSchema } from './plain-schema.ts'

/** What a tool is told of the call that it serves. */
export interface ToolContext {
  /** Aborts when the run ends, or when the tool takes longer than its `timeout`. */
  readonly signal: AbortSignal
  readonly principal: Principal
  readonly sessionId: string
  readonly runId: string
  readonly log: RunLog
  readonly toolCallId: string
  /** The same over every attempt of this call: hand it to what must not happen twice. */
  readonly idempotencyKey: string
  /** The run's own context. */
  readonly context: RunContext
  /** Where the tool runs code that nobody vouches for; undefined unless it asked for one with `sandbox`. */
  readonly sandbox: Sandbox | undefined
  /**
   * Calls another tool as a part of this call: checked, approved, told and limited in time as if the model had called
   * it. The call ends with the signal; default: with this call.
   * @throws what the model would have been told, as an error with its `code`
   */
  callTool(tool: Tool, args: unknown, signal?: AbortSignal): Promise<unknown>
}

/** The arguments that fit a schema: typed where it is of TypeBox. */
export type ArgsOf<S> = S extends TSchema ? Static<S> : Readonly<Record<string, unknown>>

/** What a tool is made from. */
export interface ToolDefinition<S extends TSchema | JsonSchema> {
  /** 1–64 letters, digits, `_` and `-`. */
  name: string
  /** What the model is told of it. */
  description: string
  /** The schema of the arguments, an object, of TypeBox or a JSON Schema; they are checked as they are, nothing is coerced. */
  input: S
  /** Does the work. What it gives goes to the model as JSON; what it throws, with its message, as an error. */
  execute(args: ArgsOf<S>, context: ToolContext): unknown
  /** Whether a call waits for an approval; goes before the agent's policy. */
  approval?: boolean | ((args: ArgsOf<S>, context: ToolContext) => Awaitable<boolean>)
  /** Milliseconds until an approval that nobody answers counts as denied; default: the agent's `approvalTimeout`. */
  approvalTimeout?: number
  /** Milliseconds; default 60,000. */
  timeout?: number
  /** Bytes of JSON that the result may have; default 262,144. */
  maxOutputBytes?: number
  /**
   * What `context.sandbox` is, for a tool that runs code given as text: the agent's sandbox or else the shared one
   * (`default`), the same but only when the system confines it (`required`), or this one.
   */
  sandbox?: SandboxChoice
}

/** A tool that an agent can use. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** The schema of the arguments as plain JSON. */
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly checkInput: CheckValue
  readonly execute: (args: never, context: ToolContext) => unknown
  readonly approval: boolean | ((args: never, context: ToolContext) => Awaitable<boolean>) | undefined
  readonly approvalTimeout: number | undefined
  readonly timeout: number
  readonly maxOutputBytes: number
  readonly sandbox: SandboxChoice | undefined
}

/**
 * Makes a tool: its arguments are typed by, and checked against, one TypeBox schema. Any JSON Schema of an object does, without types.
 * The tool runs in this process with a signal, a time-out and a cap on its result; that is no sandbox.
 * @throws RUN_ERR_BAD_TOOL, RUN_ERR_BAD_SANDBOX
 */
export function defineTool<S extends TSchema | JsonSchema>(definition: ToolDefinition<S>): Tool {
  return createTool(definition, compileInput)
}

/** The same, for a tool whose arguments are checked by what `compile` makes of their schema. */
export function createTool<S extends TSchema | JsonSchema>(
  definition: ToolDefinition<S>,
  compile: (name: string, schema: Record<string, unknown>) => CheckValue
): Tool {
  requireOptions(ToolOptionsSchema, definition, RUN_ERR_BAD_TOOL)
  const {
    name,
    description,
    input,
    execute,
    approval,
    approvalTimeout,
    timeout = 60_000,
    maxOutputBytes = 262_144,
    sandbox
  } = definition
  requireSandbox(sandbox)
  const inputSchema = toPlainSchema(input, (fault) => new RUN_ERR_BAD_TOOL(`the input of "${name}" ${fault}`))
  return Object.freeze({
    name,
    description,
    inputSchema,
    checkInput: compile(name, inputSchema),
    execute,
    approval,
    approvalTimeout,
    timeout,
    maxOutputBytes,
    sandbox
  })
}
