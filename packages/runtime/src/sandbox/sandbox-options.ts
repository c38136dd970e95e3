import { Type } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
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
