import { Type, type Static } from '@sinclair/typebox'
import type { SandboxLimits } from './sandbox.ts'

/** What the child is told: a program to run, or the answer to one of its calls. Texts named `input` and `json` are JSON. */
export type ToChild =
  | {
      readonly type: 'run'
      readonly code: string
      readonly input: string
      readonly tools: readonly string[]
      readonly limits: SandboxLimits
    }
  | { readonly type: 'answer'; readonly id: number; readonly ok: boolean; readonly json: string }

const ProgramFaultSchema = Type.Union(
  ['failed', 'timeout', 'memory', 'no-json', 'too-large'].map((fault) => Type.Literal(fault))
)
/** Why a program has no result. */
export type ProgramFault = 'failed' | 'timeout' | 'memory' | 'no-json' | 'too-large'

/**
 * What the child tells: that it can run programs, that the program waits for calls (none new when one of several was
 * answered), or what came of it. The child is believed in nothing else.
 */
export const FromChildSchema = Type.Union([
  Type.Object({ type: Type.Literal('ready') }),
  Type.Object({
    type: Type.Literal('waiting'),
    calls: Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), args: Type.Unknown() }))
  }),
  Type.Object({
    type: Type.Literal('done'),
    result: Type.Optional(Type.Unknown()),
    fault: Type.Optional(ProgramFaultSchema),
    message: Type.Optional(Type.String()),
    console: Type.String(),
    clean: Type.Boolean({ description: 'Whether it says that it can be used again' }),
    cpu: Type.Number({ description: 'Milliseconds of its life' }),
    rss: Type.Number({ description: 'Bytes' })
  })
])
export type FromChild = Static<typeof FromChildSchema>
/** How a program ended, as the child tells it. */
export type DoneMessage = Extract<FromChild, { type: 'done' }>

/** The longest message that an honest child sends, in bytes. */
export function maxFrameBytes({ maxOutputBytes, maxConsoleBytes, maxToolCalls }: SandboxLimits): number {
  return maxOutputBytes + 6 * maxConsoleBytes + 128 * maxToolCalls + 16_384
}
