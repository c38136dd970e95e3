import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema, type Runnable } from '@svc/contract'
import { AgentOptionsSchema, BASE_OPTIONS, functionSchema, optional, strict } from '@svc/runtime/loop'
import { type BaseOptions } from '@svc/runtime'
import type { TurnDetector, VoiceDetector } from './detect/fvad.ts'
import type { SpeechModel } from './speech/lift-speech.ts'
import type { TranscriptionModel } from './speech/lift-transcription.ts'
import type { ModelOfCall } from './speech/model-calls.ts'
import type { RealtimeModel } from './engines/realtime/realtime-codec.ts'
import type { AnsweringOptions } from './engines/realtime/realtime-plan.ts'

/** When the user interrupts an answer. */
export interface InterruptOptions {
  /** Milliseconds of speech that stop the playback; default 200. */
  after?: number
  /** Words, beside `after`; default 0. With a transcription that does not stream they are known at the end of the turn. */
  words?: number
  /** Milliseconds after the speech within which its words must come, or the answer is resumed; default 2,000. */
  resume?: number
}

/** How the turns of the user are found. Times are milliseconds. */
export interface TurnOptions {
  /** Default: `fvad()`. */
  detect?: VoiceDetector
  /** Estimates whether a pause is the end of the turn; default: each pause of `silence` is. */
  end?: TurnDetector
  /** Probability from which a frame counts as speech, 0 to 1; default 0.5. */
  threshold?: number
  /** Silence that ends a turn; default 500. */
  silence?: number
  /** Silence that ends a turn in any case, with `end`; default 3,000. */
  maxSilence?: number
  /** Audio before the detected start that belongs to the turn; default 300. */
  prefix?: number
  /** False: answers are not interrupted. */
  interrupt?: InterruptOptions | false
}

/** What the call says itself while tools are in progress, and about their approvals. */
export interface SpokenToolOptions {
  /** Spoken when a tool takes longer than `fillerAfter`; default: nothing. */
  filler?: string
  /** Milliseconds of silence; default 800. */
  fillerAfter?: number
  /** The question before a tool that needs an approval; default: `May I use <tool>? Please say yes or no.` */
  question?: (call: { readonly toolName: string; readonly args: unknown }) => string
  /** The words that approve, if they are all that the user says; default `yes`. */
  yes?: readonly string[]
  /** The words that deny; default `no`. */
  no?: readonly string[]
}

/** The turns of a realtime model, which finds them itself. */
export type RealtimeTurnOptions = Pick<TurnOptions, 'threshold' | 'silence' | 'prefix' | 'interrupt'>

/** What all voice agents have in common. Times are milliseconds. */
export interface CallOptions extends Omit<BaseOptions, 'queue'> {
  /** Spoken at the beginning of a call. */
  greeting?: string
  /** The voice of the model; a client may choose another. */
  voice?: string
  /** BCP 47; default: the model detects it. */
  language?: string
  /** Silence of both sides that ends a call; default 60,000. */
  idle?: number
  /** Whether the audio of a call is kept in the file store; default false. Clients are notified. */
  record?: boolean
}

/** Times in milliseconds. */
export interface CallTimeouts {
  /** A whole call; default 3,600,000. */
  call?: number
  /** Until the transcript of a turn is complete; default 15,000. */
  transcription?: number
}

/** Times in milliseconds. */
export interface CascadeTimeouts extends CallTimeouts {
  /** Until the next audio of a sentence; default 15,000. */
  speech?: number
}

/** Times in milliseconds. */
export interface RealtimeTimeouts extends CallTimeouts {
  /** Until the session with the provider is set up; default 15,000. */
  connect?: number
  /** Until a connection is replaced, before the provider ends it; default 3,300,000. */
  session?: number
  /** Until the next token of an answer; default 15,000. */
  response?: number
}

/** A call that a runnable answers, between a transcription and a speech model. */
export interface CascadeOptions extends CallOptions {
  /** Answers each turn: an agent, a team, a workflow or a remote agent. */
  answer: Runnable
  listen: ModelOfCall<TranscriptionModel>
  speak: ModelOfCall<SpeechModel>
  /** The provider whose key model functions get as `apiKey`; default: the caller's generic key. */
  provider?: string
  tools?: SpokenToolOptions
  turns?: TurnOptions
  timeout?: CascadeTimeouts
}

/** A call that a realtime model answers: it receives and sends audio itself. Times are milliseconds. */
export interface RealtimeOptions extends CallOptions, AnsweringOptions {
  /** A realtime model of the AI SDK, or a function that returns the one of a call. */
  model: ModelOfCall<RealtimeModel>
  /** What the call says itself about the tools. */
  spoken?: SpokenToolOptions
  turns?: RealtimeTurnOptions
  timeout?: RealtimeTimeouts
  /** Settings of the provider, by its name. */
  providerOptions?: Readonly<Record<string, unknown>>
}

/** The options of a voice agent: a cascade has `answer`, a realtime model is `model`. */
export type VoiceAgentOptions = CascadeOptions | RealtimeOptions

const milliseconds = (description: string) => optional(millisecondsSchema(description))
const positive = (description: string) => optional(Type.Integer({ minimum: 0, description }))

const InterruptSchema = Type.Object(
  {
    after: positive('Milliseconds of speech that stop the playback; default 200'),
    words: positive('Words, beside `after`; default 0'),
    resume: milliseconds('After the speech, until the answer is resumed without words; default 2,000')
  } satisfies Record<keyof InterruptOptions, TSchema>,
  strict
)

const REALTIME_TURNS = {
  threshold: optional(Type.Number({ minimum: 0, maximum: 1 })),
  silence: milliseconds('Silence that ends a turn; default 500'),
  prefix: positive('Milliseconds of audio before the detected start; default 300'),
  interrupt: optional(Type.Union([InterruptSchema, Type.Literal(false)]))
} satisfies Record<keyof RealtimeTurnOptions, TSchema>

const TurnsSchema = Type.Object(
  {
    ...REALTIME_TURNS,
    detect: optional(Type.Object({ rate: Type.Integer(), frame: Type.Integer(), create: functionSchema })),
    end: optional(Type.Object({ probability: functionSchema })),
    maxSilence: milliseconds('Silence that ends a turn in any case; default 3,000')
  } satisfies Record<keyof TurnOptions, TSchema>,
  strict
)

const words = optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }))

const SpokenToolsSchema = Type.Object(
  {
    filler: optional(Type.String()),
    fillerAfter: positive('Milliseconds of silence before the filler; default 800'),
    question: optional(functionSchema),
    yes: words,
    no: words
  } satisfies Record<keyof SpokenToolOptions, TSchema>,
  strict
)

// A call begins at once.
const { queue: _, ...RUNNABLE_OPTIONS } = BASE_OPTIONS

const CALL_OPTIONS = {
  ...RUNNABLE_OPTIONS,
  greeting: optional(Type.String({ minLength: 1 })),
  voice: optional(Type.String({ minLength: 1 })),
  language: optional(Type.String({ minLength: 2 })),
  idle: milliseconds('Silence of both sides that ends a call; default 60,000'),
  record: optional(Type.Boolean())
} satisfies Record<keyof CallOptions, TSchema>

const TIMEOUTS = {
  call: milliseconds('A whole call; default 3,600,000'),
  transcription: milliseconds('Until the transcript of a turn is complete; default 15,000')
} satisfies Record<keyof CallTimeouts, TSchema>

export const CascadeOptionsSchema = Type.Object(
  {
    ...CALL_OPTIONS,
    answer: Type.Object({ name: Type.String(), stream: functionSchema }),
    // Models have an error of their own.
    listen: Type.Any(),
    speak: Type.Any(),
    provider: optional(Type.String({ minLength: 1 })),
    tools: optional(SpokenToolsSchema),
    turns: optional(TurnsSchema),
    timeout: optional(
      Type.Object(
        {
          ...TIMEOUTS,
          speech: milliseconds('Until the next audio of a sentence; default 15,000')
        } satisfies Record<keyof CascadeTimeouts, TSchema>,
        strict
      )
    )
  } satisfies Record<keyof CascadeOptions, TSchema>,
  strict
)

const AGENT = AgentOptionsSchema.properties

export const RealtimeOptionsSchema = Type.Object(
  {
    ...CALL_OPTIONS,
    model: Type.Any(),
    instructions: AGENT.instructions,
    provider: AGENT.provider,
    tools: AGENT.tools,
    toolChoice: AGENT.toolChoice,
    approval: AGENT.approval,
    approvalTimeout: AGENT.approvalTimeout,
    sandbox: AGENT.sandbox,
    sessions: AGENT.sessions,
    history: AGENT.history,
    maxSteps: AGENT.maxSteps,
    retry: AGENT.retry,
    spoken: optional(SpokenToolsSchema),
    turns: optional(Type.Object(REALTIME_TURNS, strict)),
    timeout: optional(
      Type.Object(
        {
          ...TIMEOUTS,
          connect: milliseconds('Until the session with the provider is set up; default 15,000'),
          session: milliseconds('Until a connection is replaced; default 3,300,000'),
          response: milliseconds('Until the next token of an answer; default 15,000')
        } satisfies Record<keyof RealtimeTimeouts, TSchema>,
        strict
      )
    ),
    providerOptions: optional(Type.Record(Type.String(), Type.Unknown()))
  } satisfies Record<keyof RealtimeOptions, TSchema>,
  strict
)
