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

const ProgramFaultSchema = Type.Union([
  Type.Literal('failed'),
  Type.Literal('timeout'),
  Type.Literal('memory'),
  Type.Literal('no-json'),
  Type.Literal('too-large')
])
/** Why a program has no result. */
export type ProgramFault = Static<typeof ProgramFaultSchema>

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

/** The longest message that an honest child sends, in bytes: JSON may write a character in six. */
export function maxFrameBytes(
  { maxOutputBytes, maxConsoleBytes, maxToolCalls }: SandboxLimits,
  tools: readonly string[]
): number {
  const longestName = Math.max(0, ...tools.map((name) => name.length))
  return maxOutputBytes + 6 * maxConsoleBytes + (64 + 6 * longestName) * maxToolCalls + 16_384
}
