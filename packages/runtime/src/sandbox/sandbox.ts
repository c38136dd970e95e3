import { Type } from '@sinclair/typebox'
import { requireOptions, type ToolError } from '@svc/contract'
import { RUN_ERR_BAD_SANDBOX } from '../errors.ts'

/** Resource limits of a program. */
export interface SandboxLimits {
  /** Milliseconds, without waits for host tools; default 5,000. */
  readonly timeout: number
  /** Heap, in bytes; default 64 MiB. */
  readonly memory: number
  /** Bytes of JSON of the result, and of the arguments of pending calls; default 262,144. */
  readonly maxOutputBytes: number
  /** Bytes written with `console`; the rest is dropped. Default 16,384. */
  readonly maxConsoleBytes: number
  /** Calls of host tools; default 50. Further calls fail. */
  readonly maxToolCalls: number
}

/** A host function that a program can call: JSON in, JSON out. The signal aborts when the program has ended. */
export type HostTool = (args: unknown, signal: AbortSignal) => Promise<unknown>

/** One program with its input. */
export interface SandboxRun {
  /** The body of an async JavaScript function: may use `input`, `tools` and `console`, and returns its result. */
  readonly code: string
  /** JSON data. */
  readonly input?: unknown
  /** By their names in the program's `tools`. */
  readonly tools: Readonly<Record<string, HostTool>>
  readonly limits?: Partial<SandboxLimits> | undefined
  readonly signal?: AbortSignal | undefined
}

/** The outcome of a program: its result as plain JSON data, or an error. */
export type SandboxOutcome = (
  | { readonly result: unknown; readonly error?: never }
  | { readonly error: ToolError; readonly result?: never }
) & {
  /** Output written with `console`. */
  readonly console: string
}

/** The isolation of a sandbox. */
export interface SandboxDescription {
  readonly name: string
  /** True if the operating system or another machine confines it too, as `sandbox: 'required'` demands. */
  readonly confined: boolean
  /** Layers of isolation, innermost first. */
  readonly walls: readonly string[]
}

/** Runs untrusted programs. */
export interface Sandbox {
  /**
   * Runs one program, isolated from all others. Every failure of the program is an outcome.
   * @throws only the reason of the signal
   */
  run(program: SandboxRun): Promise<SandboxOutcome>
  describe(): SandboxDescription
  /** Ends running programs, and all processes. */
  close(): Promise<void>
}

/** Default limits of a program. */
export const SANDBOX_LIMITS: SandboxLimits = Object.freeze({
  timeout: 5_000,
  memory: 67_108_864,
  maxOutputBytes: 262_144,
  maxConsoleBytes: 16_384,
  maxToolCalls: 50
})

const atLeast = (minimum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, maximum: 2_147_483_647, description }))
const strict = { additionalProperties: false }

const SandboxLimitsSchema = Type.Object(
  {
    timeout: atLeast(1, 'Milliseconds; default 5,000'),
    memory: atLeast(1_048_576, 'Bytes; default 67,108,864'),
    maxOutputBytes: atLeast(1, 'Default 262,144'),
    maxConsoleBytes: atLeast(0, 'Default 16,384'),
    maxToolCalls: atLeast(0, 'Default 50')
  },
  strict
)

const QuickJsOptionsSchema = Type.Object(
  {
    processes: atLeast(1, 'Maximum number of children; default 2'),
    maxQueue: atLeast(0, 'Maximum number of waiting programs; default 1,000'),
    runsPerProcess: atLeast(1, 'Programs per child before it is replaced; default 500'),
    limits: Type.Optional(SandboxLimitsSchema),
    bubblewrap: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Literal('required'), Type.Literal('off')])
    )
  },
  strict
)

/** Options of `quickJsSandbox`. */
export interface QuickJsSandboxOptions {
  /** Maximum number of children; default 2. */
  processes?: number
  /** Maximum number of waiting programs; default 1,000. Further programs are refused. */
  maxQueue?: number
  /** Programs per child before it is replaced; default 500. */
  runsPerProcess?: number
  /** Upper bounds of the limits that a program may request, and their defaults. */
  limits?: Partial<SandboxLimits>
  /** `auto` (default): used where it works. `required`: creation fails without it. */
  bubblewrap?: 'auto' | 'required' | 'off'
}

/** Checks the options, and adds defaults. @throws RUN_ERR_BAD_SANDBOX */
export function readOptions(options: QuickJsSandboxOptions) {
  requireOptions(QuickJsOptionsSchema, options, RUN_ERR_BAD_SANDBOX)
  const { processes = 2, maxQueue = 1_000, runsPerProcess = 500, limits, bubblewrap = 'auto' } = options
  return { processes, maxQueue, runsPerProcess, bubblewrap, limits: { ...SANDBOX_LIMITS, ...limits } }
}

/** @throws RUN_ERR_BAD_SANDBOX for an unknown limit or a bad value */
export function requireLimits(limits: Partial<SandboxLimits> | undefined): void {
  if (limits !== undefined) requireOptions(SandboxLimitsSchema, limits, RUN_ERR_BAD_SANDBOX)
}

/** Caps requested limits by those of the sandbox. @throws RUN_ERR_BAD_SANDBOX */
export function capLimits(requested: Partial<SandboxLimits> | undefined, max: SandboxLimits): SandboxLimits {
  requireLimits(requested)
  const capped: Record<keyof SandboxLimits, number> = { ...max }
  for (const key of Object.keys(max) as (keyof SandboxLimits)[])
    capped[key] = Math.min(requested?.[key] ?? max[key], max[key])
  return capped
}
