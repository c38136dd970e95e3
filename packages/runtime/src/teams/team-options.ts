import { Type, type TSchema } from '@sinclair/typebox'
import type {
  Awaitable,
  PartError,
  RunContext,
  Runnable,
  RunnableDefinition,
  RunnableKind
} from '@svc/registry'
import { functionSchema, LOOP_OPTIONS, optional, strict, type LoopOptions } from '../loop/loop-options.ts'
import { BASE_OPTIONS, type BaseOptions } from '../runnables/base-runnable.ts'

/** How the members of a team work together. */
export type TeamMode = 'coordinate' | 'route' | 'parallel' | 'sequence'

/** What a member of a parallel team answered; `error` is there when it failed. */
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
  extends BaseOptions, Omit<LoopOptions, 'model'> {
  /** At least one; their names differ. */
  members: Members
  mode: Mode
  /** The leader's: needed to coordinate and to route, and in parallel unless there is a `merge`. */
  model?: LoopOptions['model']
  /** In parallel: merges the answers instead of a leader. */
  merge?: Merge<Merged>
  /** True if whoever may run the team may run its members through it; default true. */
  delegates?: boolean
}

export const TeamOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    ...LOOP_OPTIONS,
    members: Type.Array(Type.Any(), { minItems: 1 }),
    mode: Type.Union([
      Type.Literal('coordinate'),
      Type.Literal('route'),
      Type.Literal('parallel'),
      Type.Literal('sequence')
    ]),
    model: optional(LOOP_OPTIONS.model),
    merge: optional(functionSchema),
    delegates: optional(Type.Boolean())
  } satisfies Record<keyof TeamOptions, TSchema>,
  strict
)
