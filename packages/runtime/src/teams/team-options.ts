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

/** The options of a team; those of a model are the leader's. Times are milliseconds. */
export interface TeamOptions<
  Members extends readonly Member[] = readonly Member[],
  Mode extends TeamMode = TeamMode,
  Merged = unknown
>
  extends BaseOptions, Omit<ModelOptions, 'model'> {
  /** At least one; their names differ. */
  members: Members
  mode: Mode
  /** The leader's model: required for `coordinate` and `route`, and for `parallel` without `merge`. */
  model?: ModelOptions['model']
  /** In `parallel`, merges the answers instead of a leader. */
  merge?: Merge<Merged>
  /** If true, the permission to run the team covers its members; default true. */
  delegates?: boolean
  /**
   * Whether its runs survive a crash of the service, unless they end when their client disconnects; default true. It takes stores
   * that survive.
   */
  durable?: boolean
  /** What happens to a message while another run has the turn of its session; default `queue`. Callers may choose another. */
  whenBusy?: WhenBusy
}

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
    durable: optional(Type.Boolean())
  } satisfies Record<keyof TeamOptions, TSchema>,
  strict
)
