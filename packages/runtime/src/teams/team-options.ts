import { Type, type TSchema } from '@sinclair/typebox'
import {
  WhenBusySchema,
  type Awaitable,
  type PartError,
  type RunContext,
  type Runnable,
  type RunnableDefinition,
  type RunnableKind,
  type WhenBusy
} from '@svc/contract'
import { functionSchema, MODEL_OPTIONS, optional, strict, type ModelOptions } from '../loop/model-options.ts'
import { UseSchema, type Middleware } from '../middleware/middleware.ts'
import { BASE_OPTIONS, type BaseOptions } from '../runnables/base-runnable.ts'

/** How the members of a team work together. */
export type TeamMode = 'coordinate' | 'route' | 'parallel' | 'sequence'

/** The answer of a member of a parallel team; `error` is set if it failed. */
export interface MemberAnswer {
  readonly kind: RunnableKind
  readonly member: string
  readonly text: string
  readonly structured: unknown
  readonly error?: PartError
}

/** Merges the members' answers, which come in the order of the members, into one. */
export type Merge<Structured = unknown> = (
  answers: readonly MemberAnswer[],
  context: RunContext
) => Awaitable<string | { text: string; structured?: Structured }>

/** A member of a team: an agent, a team, a workflow, a remote agent, a plain object. */
export type Member = Runnable | RunnableDefinition

/** Options of teams in every mode. Times are milliseconds. */
export interface TeamBaseOptions<Members extends readonly Member[] = readonly Member[]>
  extends BaseOptions, Pick<ModelOptions, 'sessions' | 'timeout'> {
  /** At least one; their names differ. */
  members: Members
  /** If true, the permission to run the team covers its members; default true. */
  delegates?: boolean
  /**
   * Whether its runs survive a crash of the service, unless they end when their client disconnects; default true. It takes stores
   * that survive.
   */
  durable?: boolean
  /** What happens to a message while another run has the turn of its session; default `queue`. Callers may choose another. */
  whenBusy?: WhenBusy
  /** Hooks around its runs and its members, within those of the app. At most 32. */
  use?: readonly Middleware[]
}

/** The options of the leader, who is a model. */
export type LeaderOptions = Omit<ModelOptions, keyof TeamBaseOptions>
type NoLeader = { [Option in keyof LeaderOptions]?: never }

interface ByMode<Merged> {
  /** A leader that calls the members as its tools, and answers. */
  coordinate: LeaderOptions & { merge?: never }
  /** A leader that picks the member that answers. */
  route: LeaderOptions & { merge?: never }
  /** All members at once: a leader answers from their answers, or `merge` does. */
  parallel:
    | (LeaderOptions & { merge?: never })
    | (NoLeader & {
        /** Merges the answers instead of a leader. */
        merge: Merge<Merged>
      })
  /** One member after the other, without a leader. */
  sequence: NoLeader & { merge?: never }
}

/**
 * The options of a team, by its `mode`: `coordinate` and `route` need the `model` of a leader, and take its options; `parallel` takes
 * them, or `merge`; `sequence` takes neither.
 */
export type TeamOptions<
  Members extends readonly Member[] = readonly Member[],
  Mode extends TeamMode = TeamMode,
  Merged = unknown
> = TeamBaseOptions<Members> & { mode: Mode } & {
    [Each in TeamMode]: { mode: Each } & ByMode<Merged>[Each]
  }[TeamMode]

export const TeamOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    ...MODEL_OPTIONS,
    members: Type.Array(Type.Any(), { minItems: 1 }),
    mode: Type.Union([
      Type.Literal('coordinate'),
      Type.Literal('route'),
      Type.Literal('parallel'),
      Type.Literal('sequence')
    ]),
    model: optional(MODEL_OPTIONS.model),
    merge: optional(functionSchema),
    delegates: optional(Type.Boolean()),
    whenBusy: optional(WhenBusySchema),
    durable: optional(Type.Boolean()),
    use: optional(UseSchema)
  } satisfies Record<keyof TeamOptions, TSchema>,
  strict
)
