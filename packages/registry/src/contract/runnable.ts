import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { RunInput } from './content-part.ts'
import { RunnableKindSchema, type RunnableKind } from './names.ts'
import type { YieldedPart } from './part.ts'
import type { RunContext } from './run-context.ts'
import type { RunResult } from './run-result.ts'

/** What is told of a runnable: never its instructions, never a key. */
export const RunnableMetadataSchema = Type.Object(
  {
    kind: RunnableKindSchema,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    model: Type.Optional(Type.String()),
    tools: Type.Optional(
      Type.Array(
        Type.Object({ name: Type.String(), description: Type.String(), input: Type.Optional(Type.Unknown()) })
      )
    ),
    members: Type.Optional(Type.Array(Type.String())),
    steps: Type.Optional(Type.Array(Type.String())),
    skills: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), description: Type.Optional(Type.String()) }))
    ),
    input: Type.Optional(
      Type.Unknown({ description: 'JSON Schema of the input, where it is not a message' })
    ),
    output: Type.Optional(Type.Unknown({ description: 'JSON Schema of the structured output' }))
  },
  { title: 'RunnableMetadata' }
)
export type RunnableMetadata = Static<typeof RunnableMetadataSchema>

/** What a plain `run` may return. */
export type RunOutput = string | { text: string; structured?: unknown }

/** An agent, team or workflow: whatever has these members can be served on every surface. */
export interface Runnable {
  readonly kind: RunnableKind
  readonly name: string
  readonly description?: string | undefined
  /** A JSON Schema for the input, where it is not a message (`string | ContentPart[]`). */
  readonly inputSchema?: TSchema | undefined
  /** Whether a run can go on in another process after a crash. */
  readonly resumable?: boolean | undefined
  /** The parts of one execution, in their order. `start`, `seq` and, where it is left out, `finish` are the engine's. */
  stream(input: RunInput, context: RunContext): AsyncIterable<YieldedPart>
  /** The parts, collected. */
  run(input: RunInput, context: RunContext): Promise<RunResult>
  describe(): RunnableMetadata
}

/** What a runnable is made from: one of `run` and `stream`, the other follows from it. */
export interface RunnableDefinition {
  kind: RunnableKind
  name: string
  description?: string | undefined
  inputSchema?: TSchema | undefined
  resumable?: boolean | undefined
  stream?(input: RunInput, context: RunContext): AsyncIterable<YieldedPart>
  run?(input: RunInput, context: RunContext): Promise<RunOutput | RunResult> | RunOutput
  describe?(): Partial<RunnableMetadata>
}
