import type { ToolError } from '@svc/registry'

/** What a program may use. */
export interface SandboxLimits {
  /** Milliseconds that the program itself may take, its waits for host tools left out; default 5,000. */
  readonly timeout: number
  /** Bytes of its heap; default 64 MiB. */
  readonly memory: number
  /** Bytes of JSON of its result, and of the arguments of one call; default 262,144. */
  readonly maxOutputBytes: number
  /** Bytes of what it writes with `console`; the rest is dropped. Default 16,384. */
  readonly maxConsoleBytes: number
  /** Calls of host tools; default 50. One more fails. */
  readonly maxToolCalls: number
}

/** A function of the host that a program can call: JSON in, JSON out. The signal aborts when the program is over. */
export type HostTool = (args: unknown, signal: AbortSignal) => Promise<unknown>

/** One program, and what it is given. */
export interface SandboxRun {
  /** The body of an async function of JavaScript: it finds `input`, `tools` and `console`, and returns its result. */
  readonly code: string
  /** JSON data. */
  readonly input?: unknown
  /** By the names under which the program finds them in `tools`. */
  readonly tools: Readonly<Record<string, HostTool>>
  readonly limits?: Partial<SandboxLimits> | undefined
  readonly signal?: AbortSignal | undefined
}

/** What came of a program: its result as plain JSON data, or why there is none. */
export type SandboxOutcome = (
  | { readonly result: unknown; readonly error?: never }
  | { readonly error: ToolError; readonly result?: never }
) & {
  /** What it wrote with `console`. */
  readonly console: string
}

/** What stands between a program and the machine. */
export interface SandboxDescription {
  readonly name: string
  /** Whether the operating system, or another machine, confines it too: what `sandbox: 'required'` asks for. */
  readonly confined: boolean
  /** Every wall, the inmost first. */
  readonly walls: readonly string[]
}

/** Runs programs that nobody vouches for. */
export interface Sandbox {
  /**
   * Runs one program, cut off from all others. Whatever it does comes back as an outcome.
   * @throws why the signal aborted, and nothing else
   */
  run(program: SandboxRun): Promise<SandboxOutcome>
  describe(): SandboxDescription
  /** Ends the programs that run, and everything that was started for them. */
  close(): Promise<void>
}

/** What a program may use when nothing else is said. */
export const SANDBOX_LIMITS: SandboxLimits = Object.freeze({
  timeout: 5_000,
  memory: 67_108_864,
  maxOutputBytes: 262_144,
  maxConsoleBytes: 16_384,
  maxToolCalls: 50
})
