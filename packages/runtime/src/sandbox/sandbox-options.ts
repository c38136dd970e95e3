import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/registry'
import { RUN_ERR_BAD_SANDBOX } from '../errors.ts'
import { SANDBOX_LIMITS, type SandboxLimits } from './sandbox.ts'

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
    processes: atLeast(1, 'Children at most; default 2'),
    maxQueue: atLeast(0, 'Programs that may wait for a child; default 1,000'),
    runsPerProcess: atLeast(1, 'Programs that a child runs before it is replaced; default 500'),
    limits: Type.Optional(SandboxLimitsSchema),
    bubblewrap: Type.Optional(
      Type.Union([Type.Literal('auto'), Type.Literal('required'), Type.Literal('off')])
    )
  },
  strict
)

/** Options of `quickJsSandbox`. */
export interface QuickJsSandboxOptions {
  /** Children at most; default 2. */
  processes?: number
  /** Programs that may wait for a child; default 1,000. One more is refused. */
  maxQueue?: number
  /** Programs that a child runs before it is replaced; default 500. */
  runsPerProcess?: number
  /** The most that a program may ask for, and what it has when it asks for nothing. */
  limits?: Partial<SandboxLimits>
  /** `auto` (default): around every child, where it works. `required`: nothing is made without it. */
  bubblewrap?: 'auto' | 'required' | 'off'
}

/** The options with their defaults. @throws RUN_ERR_BAD_SANDBOX */
export function readOptions(options: QuickJsSandboxOptions) {
  requireOptions(QuickJsOptionsSchema, options, RUN_ERR_BAD_SANDBOX)
  const { processes = 2, maxQueue = 1_000, runsPerProcess = 500, limits, bubblewrap = 'auto' } = options
  return { processes, maxQueue, runsPerProcess, bubblewrap, limits: { ...SANDBOX_LIMITS, ...limits } }
}

/** @throws RUN_ERR_BAD_SANDBOX for a limit that is unknown or has a bad value */
export function requireLimits(limits: Partial<SandboxLimits> | undefined): void {
  if (limits !== undefined) requireOptions(SandboxLimitsSchema, limits, RUN_ERR_BAD_SANDBOX)
}

/** What a program gets: what it asks for, and never more than the sandbox allows. @throws RUN_ERR_BAD_SANDBOX */
export function boundLimits(asked: Partial<SandboxLimits> | undefined, most: SandboxLimits): SandboxLimits {
  requireLimits(asked)
  const bounded: Record<keyof SandboxLimits, number> = { ...most }
  for (const key of Object.keys(most) as (keyof SandboxLimits)[])
    bounded[key] = Math.min(asked?.[key] ?? most[key], most[key])
  return bounded
}
