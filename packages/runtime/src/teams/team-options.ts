import { Type, type TSchema } from '@sinclair/typebox'
import type {
  Awaitable,
  PartError,
  RunContext,
  Runnable,
  RunnableDefinition,
  RunnableKind,
  SessionStore
} from '@svc/registry'
import type { ModelSettings } from '../agents/agent-options.ts'
import type { Instructions } from '../agents/agent-plan.ts'
import type { Timeouts } from '../guards/run-guard.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import type { Model, ModelFunction } from '../models/model.ts'
import type { Retry } from '../models/retry-model.ts'
import { AgentOptionsSchema } from '../options.ts'
import type { BaseOptions } from '../runnables/base-runnable.ts'
import type { HistoryLimits } from '../sessions/history.ts'

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

/** The options of a team. Times are milliseconds. */
export interface TeamOptions<
  Members extends readonly Member[] = readonly Member[],
  Mode extends TeamMode = TeamMode,
  Merged = unknown
> extends BaseOptions {
  /** At least one; their names differ. */
  members: Members
  mode: Mode
  /** The leader's: needed to coordinate and to route, and in parallel unless there is a `merge`. */
  model?: Model | ModelFunction
  /** Whose key a model function gets. */
  provider?: string
  settings?: ModelSettings
  /** What the leader is told besides what its mode tells it; never shown to clients. */
  instructions?: Instructions
  /** In parallel: makes the answer instead of a leader. */
  merge?: Merge<Merged>
  /** Whether who may run the team may run its members through it; default true. */
  delegates?: boolean
  /** Where the leader's conversations are kept; default: the app's store. */
  sessions?: SessionStore
  history?: Partial<HistoryLimits>
  /** Of URLs in the input that the leader's model does not fetch itself. */
  urls?: Partial<UrlOptions>
  /** Of the leader's model calls. */
  retry?: Partial<Retry>
  /** `run` is the time of the whole run, members included; the others are the leader's. */
  timeout?: Partial<Timeouts>
  /** Calls of the leader's model in one run; default 10. */
  maxSteps?: number
}

const { properties } = AgentOptionsSchema
const optional = (schema: TSchema) => Type.Optional(schema)

/** The options of a team. */
export const TeamOptionsSchema = Type.Object(
  {
    name: Type.Any(),
    description: properties.description,
    members: Type.Array(Type.Any(), { minItems: 1 }),
    mode: Type.Union([
      Type.Literal('coordinate'),
      Type.Literal('route'),
      Type.Literal('parallel'),
      Type.Literal('sequence')
    ]),
    model: optional(Type.Any()),
    provider: properties.provider,
    settings: properties.settings,
    instructions: optional(Type.Union([Type.String(), Type.Function([], Type.Unknown())])),
    merge: optional(Type.Function([], Type.Unknown())),
    delegates: optional(Type.Boolean()),
    sessions: properties.sessions,
    history: properties.history,
    urls: properties.urls,
    retry: properties.retry,
    timeout: properties.timeout,
    maxSteps: properties.maxSteps,
    register: properties.register,
    registry: properties.registry,
    replace: properties.replace
  },
  { additionalProperties: false }
)
