import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { Type, type TSchema } from '@sinclair/typebox'
import type { Awaitable, RunContext, SessionStore } from '@svc/contract'
import { SituationSchema, type Situation } from '../context/situation.ts'
import { UrlOptionsSchema, type UrlOptions } from '../files/urls.ts'
import { TimeoutsSchema, type Timeouts } from '../guards/guard.ts'
import { CacheSchema, type Cache } from '../models/cache-marks.ts'
import type { Model, ModelFunction } from '../models/model.ts'
import { RetrySchema, type Retry } from '../models/call-report.ts'
import { HistoryOptionsSchema, type HistoryOptions } from '../sessions/history.ts'

/** The system prompt, or a function of the run that returns it. */
export type Instructions = string | ((context: RunContext) => Awaitable<string>)

/** The settings of a model call; see `LanguageModelV4CallOptions` of `@ai-sdk/provider`. */
export type ModelSettings = Pick<
  LanguageModelV4CallOptions,
  | 'maxOutputTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'seed'
  | 'reasoning'
  | 'providerOptions'
>

/** The options of a model in a conversation: an agent's, or those of a team's leader. Times are milliseconds. */
export interface ModelOptions {
  /** A model of the AI SDK, or a function that returns one for each run, e.g. with the caller's own key. */
  model: Model | ModelFunction
  /** The provider whose key a model function gets as `apiKey`, e.g. `openai`; default: the caller's generic key. */
  provider?: string
  settings?: ModelSettings
  /** The system prompt; never shown to clients. */
  instructions?: Instructions
  /** What differs from run to run, such as the time; stands behind the words of the user, and in no session. At most 16,384 characters. */
  situation?: Situation
  /** The store of its conversations; default: the app's. */
  sessions?: SessionStore
  /** Default: all messages; the oldest are summarised when the prompt has 85 % of the window. */
  history?: HistoryOptions
  /** How prompts are marked for the provider's cache; default `auto`. */
  cache?: Cache
  /** The URLs of an input that are fetched; default: of the public internet, 20 MiB, 20,000 milliseconds. */
  urls?: Partial<UrlOptions>
  /** Retries of transient failures before the first token; default 3 attempts, 500 base, 30,000 at most. */
  retry?: Partial<Retry>
  /** Default: 60,000 to the first token, 60,000 between tokens, 600,000 for the run. */
  timeout?: Partial<Timeouts>
  /** Model calls of one run; default 10. The run then finishes with `max-steps`. */
  maxSteps?: number
  /** If true, `tool.call.delta` parts show the arguments of tool calls while the model writes them; default false. */
  toolCallDeltas?: boolean
}

export const optional = <S extends TSchema>(schema: S) => Type.Optional(schema)
export const functionSchema = Type.Function([], Type.Unknown())
export const strict = { additionalProperties: false }

const ModelSettingsSchema = Type.Object(
  {
    maxOutputTokens: optional(Type.Integer({ minimum: 1 })),
    temperature: optional(Type.Number()),
    topP: optional(Type.Number()),
    topK: optional(Type.Number()),
    presencePenalty: optional(Type.Number()),
    frequencyPenalty: optional(Type.Number()),
    stopSequences: optional(Type.Array(Type.String())),
    seed: optional(Type.Integer()),
    reasoning: optional(Type.String()),
    providerOptions: optional(Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())))
  } satisfies Record<keyof ModelSettings, TSchema>,
  strict
)

/** The schemas of `ModelOptions`. */
export const MODEL_OPTIONS = {
  // Models have an error of their own.
  model: Type.Any(),
  provider: optional(Type.String({ minLength: 1 })),
  settings: optional(ModelSettingsSchema),
  instructions: optional(Type.Union([Type.String(), functionSchema])),
  situation: optional(SituationSchema),
  sessions: optional(Type.Object({ lock: functionSchema, load: functionSchema, append: functionSchema })),
  history: optional(HistoryOptionsSchema),
  cache: optional(CacheSchema),
  urls: optional(UrlOptionsSchema),
  retry: optional(RetrySchema),
  timeout: optional(TimeoutsSchema),
  maxSteps: optional(Type.Integer({ minimum: 1, description: 'Model calls of one run; default 10' })),
  toolCallDeltas: optional(Type.Boolean())
} satisfies Record<keyof ModelOptions, TSchema>

/** The default of `maxSteps`. */
export const MAX_STEPS = 10
