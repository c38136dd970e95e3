import type { ToolError } from '@svc/contract'

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
