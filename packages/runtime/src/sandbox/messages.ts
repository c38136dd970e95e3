import { Type, type Static } from '@sinclair/typebox'
import type { SandboxLimits } from './sandbox.ts'

/** Messages to the child: a program to run, or the answer to a call. `input` and `json` are JSON texts. */
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
 * Messages from the child: it is ready, its program waits for calls (`calls` may be empty while earlier ones are pending), or
 * the program is done. Anything else is a protocol error.
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
    clean: Type.Boolean({ description: 'True if the child claims to be reusable' }),
    cpu: Type.Number({ description: 'CPU milliseconds of its lifetime' }),
    rss: Type.Number({ description: 'Bytes' })
  })
])
export type FromChild = Static<typeof FromChildSchema>
/** How a program ended, according to the child. */
export type DoneMessage = Extract<FromChild, { type: 'done' }>

/** The longest message of an uncompromised child, in bytes: JSON may escape a byte as six characters. */
export function maxFrameBytes(
  { maxOutputBytes, maxConsoleBytes, maxToolCalls }: SandboxLimits,
  tools: readonly string[]
): number {
  const longestName = Math.max(0, ...tools.map((name) => name.length))
  return maxOutputBytes + 6 * maxConsoleBytes + (64 + 6 * longestName) * maxToolCalls + 16_384
}
