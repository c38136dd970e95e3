import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { MIME_TYPE, type RunInput, type YieldedPart } from './part.ts'
import { RunnableKindSchema, type RunnableKind } from './names.ts'
import type { WhenBusy } from './run-body.ts'
import type { RunContext } from './run-context.ts'
import type { RunResult } from './run-result.ts'

/** The public description of a runnable; never contains instructions or keys. */
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
    egress: Type.Optional(
      Type.Union([Type.Literal('guarded'), Type.Literal('unguarded')], {
        description: 'Of an agent with a browser: `unguarded` if its pages may reach any host'
      })
    ),
    voice: Type.Optional(
      Type.Union([Type.Literal('cascade'), Type.Literal('realtime')], {
        description: 'Of an agent that can be called: how it receives and answers speech'
      })
    ),
    input: Type.Optional(Type.Unknown({ description: 'JSON Schema of the input, unless it is a message' })),
    output: Type.Optional(Type.Unknown({ description: 'JSON Schema of the structured output' }))
  },
  { title: 'RunnableMetadata' }
)
export type RunnableMetadata = Static<typeof RunnableMetadataSchema>

/** The return value of a plain `run`. */
export type RunOutput = string | { text: string; structured?: unknown }

/**
 * Takes a part of a run: it is numbered and in the log when this returns. A returned promise holds the next part back until the
 * store has caught up.
 * @throws what is wrong with the part, or why the run has ended
 */
export type PartSink = (part: YieldedPart) => Promise<void> | undefined

/** A stream that can also push its parts, which costs less than asking for each. It is read once, in one of the two ways; pushed, it ends with
 * the signal of its run, or when the sink throws. */
export interface PushedParts extends AsyncIterator<YieldedPart, void> {
  /** Pushes every part; resolves after the last one. @throws the errors of the runnable and of the sink */
  pushTo(sink: PartSink): Promise<void>
}

/**
 * How a surface replies to a message whose protocol has both: with a task that tracks the run, or with a message alone, for short
 * answers.
 */
export type ReplyKind = 'task' | 'message'

/** An agent, team or workflow. Every surface can serve any object with these members. */
export interface Runnable {
  readonly kind: RunnableKind
  readonly name: string
  readonly description?: string | undefined
  /**
   * A JSON Schema for the input, unless it is a message (`string | ContentPart[]`): TypeBox, or any with a `~standard` to
   * validate by (standardschema.dev).
   */
  readonly inputSchema?: TSchema | undefined
  /**
   * True if another process can resume a run after a crash; of agents and teams those runs that do not end when their client
   * disconnects.
   */
  readonly resumable?: boolean | undefined
  /** True if each of its runs is a turn of its session (`SessionStore.lock`), in the stores of the engine. */
  readonly takesTurns?: boolean | undefined
  /** What happens to a message while another run has the turn of its session; default of `StartOptions.whenBusy`, else `queue`. */
  readonly whenBusy?: WhenBusy | undefined
  /** True if messages may join its runs: it takes them from `RunContext.steering` before it ends. */
  readonly steerable?: boolean | undefined
  /** True if a run of it can compact the history of its session alone (`StartOptions.compact`). */
  readonly compacts?: boolean | undefined
  /** True if its runs wait in the queue of their engine until a process begins them; default of `StartOptions.queue`. */
  readonly queue?: boolean | undefined
  /** How A2A replies to its messages; default of the surface. */
  readonly reply?: ReplyKind | undefined
  /** Names of its own tools, as far as they are known before a run; tools of a caller must have others. */
  readonly toolNames?: readonly string[] | undefined
  /** True if a run may have more tools than `toolNames`: a caller's choice of a tool is then checked in the run. */
  readonly toolsVary?: boolean | undefined
  /** What discovery documents, such as agent cards, say of it. */
  readonly card?: RunnableCard | undefined
  /**
   * The parts of one execution, in order. The engine adds `start`, `seq` and, if omitted, `finish`. If the stream has `pushTo`
   * (`PushedParts`), the engine has the parts pushed.
   */
  stream(input: RunInput, context: RunContext): AsyncIterable<YieldedPart>
  /** Executes to the end and returns the collected result. */
  run(input: RunInput, context: RunContext): Promise<RunResult>
  describe(): RunnableMetadata
}

/** The definition of a runnable: give `run` or `stream`; the other is derived. */
export interface RunnableDefinition {
  kind: RunnableKind
  name: string
  description?: string | undefined
  inputSchema?: TSchema | undefined
  resumable?: boolean | undefined
  takesTurns?: boolean | undefined
  whenBusy?: WhenBusy | undefined
  steerable?: boolean | undefined
  compacts?: boolean | undefined
  queue?: boolean | undefined
  reply?: ReplyKind | undefined
  toolNames?: readonly string[] | undefined
  toolsVary?: boolean | undefined
  card?: RunnableCard | undefined
  stream?(input: RunInput, context: RunContext): AsyncIterable<YieldedPart>
  run?(input: RunInput, context: RunContext): Promise<RunOutput | RunResult> | RunOutput
  describe?(): Partial<RunnableMetadata>
}

/** A media type, or a wildcard for several. */
export const MediaRangeSchema = Type.String({
  maxLength: 255,
  pattern: String.raw`^(?:\*/\*|[\w!#$&^.+-]+/\*|${MIME_TYPE})$`,
  description: 'A media type or a wildcard: `image/png`, `image/*`, `*/*`'
})

/** An absolute URL of HTTP. */
const HttpUrlSchema = Type.String({ maxLength: 8192, pattern: '^https?://[^\\s/?#]\\S*$' })

const texts = Type.Array(Type.String({ minLength: 1 }))

/** What discovery documents, such as the agent cards of A2A, say of a runnable; nothing in it changes its runs. */
export interface RunnableCard {
  /** Its name for people; default: `name`. */
  readonly title?: string | undefined
  /** Keywords; default: its kind. */
  readonly tags?: readonly string[] | undefined
  /** Inputs that it can handle, for people to try. */
  readonly examples?: readonly string[] | undefined
  /** Media types of its inputs, with wildcards such as `image/*`; default: those of the service. */
  readonly inputModes?: readonly string[] | undefined
  /** Media types of its outputs; default: those of the service. */
  readonly outputModes?: readonly string[] | undefined
  /** The URL of its documentation. */
  readonly documentationUrl?: string | undefined
  /** The URL of its icon. */
  readonly iconUrl?: string | undefined
  /**
   * The credentials that it needs, if not those of the service: one of these is enough, and each names security schemes of the
   * service, with the scopes to have.
   */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined
}

const fields = {
  title: Type.Optional(Type.String({ minLength: 1 })),
  tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  examples: Type.Optional(texts),
  inputModes: Type.Optional(Type.Array(MediaRangeSchema, { minItems: 1 })),
  outputModes: Type.Optional(Type.Array(MediaRangeSchema, { minItems: 1 })),
  documentationUrl: Type.Optional(HttpUrlSchema),
  iconUrl: Type.Optional(HttpUrlSchema),
  security: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))))
} satisfies Record<keyof RunnableCard, unknown>

export const RunnableCardSchema = Type.Unsafe<RunnableCard>(
  Type.Object(fields, { additionalProperties: false, title: 'RunnableCard' })
)
