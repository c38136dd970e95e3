import { Type } from '@sinclair/typebox'
import { VOICE_ERR_BAD_FORMAT } from './errors.ts'
import { ClientToolsSchema, type ApprovalAnswer, type ClientTool, type InputAnswer } from './inputs.ts'
import type { Usage, YieldedPart } from './part.ts'
import type { Awaitable } from './awaitable.ts'
import { InstructionsSchema } from './run-body.ts'
import { checkOf } from './schemas/check-of.ts'
import type { RunContext } from './run-context.ts'
import type { Runnable } from './runnable.ts'

/**
 * The format of raw audio with one channel: `audio/pcm` has 16-bit little-endian samples; `audio/pcmu` and `audio/pcma` are G.711 at
 * 8,000 Hz. An audio format of the AI SDK.
 */
export interface AudioFormat {
  readonly type: 'audio/pcm' | 'audio/pcmu' | 'audio/pcma'
  /** Hz. */
  readonly rate: number
}

/** How the turns of the user are found. What is absent is as the agent has it. */
export interface VoiceTurnSettings {
  /** False: only `commit` ends a turn. */
  readonly detect?: boolean
  /** Probability from which a frame counts as speech, 0 to 1. */
  readonly threshold?: number
  /** Milliseconds of silence that end a turn. */
  readonly silence?: number
  /** Milliseconds before the detected start that belong to the turn. */
  readonly prefix?: number
  /** Whether a turn is answered without a `respond`. */
  readonly respond?: boolean
  /** Whether speech interrupts an answer. */
  readonly interrupt?: boolean
}

/** What a client may choose for its call. What is absent is as the agent has it. */
export interface VoiceSettings {
  /** The audio that the client sends; default: PCM at 24,000 Hz. */
  readonly input?: AudioFormat
  /** The audio that the client receives; default: PCM at 24,000 Hz. */
  readonly output?: AudioFormat
  /** `text`: answers are not spoken. */
  readonly modality?: 'audio' | 'text'
  readonly voice?: string
  /** They follow the agent's own. A `configure` with undefined takes back earlier ones. */
  readonly instructions?: string | undefined
  /** The tools that the client serves. */
  readonly tools?: readonly ClientTool[]
  readonly turns?: VoiceTurnSettings
}

/** What the client of a call does. */
export type VoiceInput =
  /** Audio of the microphone, in the input format. */
  | { readonly type: 'audio'; readonly audio: Uint8Array }
  /** The turn is over. `itemId`: the client's own id for it. */
  | { readonly type: 'commit'; readonly itemId?: string }
  /** Discards the audio that belongs to no turn yet. */
  | { readonly type: 'clear' }
  /** A turn in writing; it is answered by a `respond`, or at once with `respond: true`. */
  | { readonly type: 'text'; readonly text: string; readonly itemId?: string; readonly respond?: boolean }
  /** A turn as an audio file, such as a voice message; `respond` as of a text. */
  | {
      readonly type: 'file'
      readonly audio: Uint8Array
      readonly mimeType: string
      readonly itemId?: string
      readonly respond?: boolean
    }
  /** Asks for an answer. */
  | { readonly type: 'respond'; readonly instructions?: string; readonly modality?: 'audio' | 'text' }
  /** Ends the answer under way. */
  | { readonly type: 'cancel' }
  /** The client has stopped an answer after it had played `heardMs` milliseconds of it. */
  | { readonly type: 'truncate'; readonly itemId: string; readonly heardMs: number }
  /** The client has played `ms` milliseconds of an answer. */
  | { readonly type: 'played'; readonly itemId: string; readonly ms: number }
  | { readonly type: 'configure'; readonly settings: VoiceSettings }
  /** The connection was lost, and the client may come back; nothing is played meanwhile. */
  | { readonly type: 'away' }
  | { readonly type: 'back' }
  /** The last one: the user hung up, or did not come back, or the service shuts down. */
  | { readonly type: 'end'; readonly reason: 'hangup' | 'gone' | 'shutdown' }

/** The end of an answer. */
export interface VoiceAnswerEnd {
  readonly type: 'answer.end'
  readonly responseId: string
  readonly itemId: string
  /** All that was generated, whether it was played or not. */
  readonly text: string
  readonly durationMs: number
}

/**
 * What a call reports to its client. Items are the turns of the user and the answers; each names the one before it. A response has at most
 * one answer, and the calls of client tools; there is at most one at a time.
 */
export type VoiceOutput =
  | { readonly type: 'state'; readonly state: 'listening' | 'thinking' | 'speaking' }
  /** The user began to speak, in milliseconds of received audio. */
  | { readonly type: 'speech.start'; readonly itemId: string; readonly atMs: number }
  | { readonly type: 'speech.stop'; readonly itemId: string; readonly atMs: number }
  /** A turn of the user took its place in the conversation. `text` if it came in writing. */
  | {
      readonly type: 'item'
      readonly itemId: string
      readonly previousItemId: string | undefined
      readonly text?: string
    }
  /** The words of the user so far; of a `final` one, all of them. */
  | {
      readonly type: 'transcript'
      readonly itemId: string
      readonly text: string
      readonly final: boolean
    }
  | {
      readonly type: 'transcript.failed'
      readonly itemId: string
      readonly code: string
      readonly message: string
    }
  | { readonly type: 'response.start'; readonly responseId: string }
  | {
      readonly type: 'answer.start'
      readonly responseId: string
      readonly itemId: string
      readonly previousItemId: string | undefined
      readonly modality: 'audio' | 'text'
    }
  /** An increment of the text of an answer. */
  | { readonly type: 'text'; readonly responseId: string; readonly itemId: string; readonly delta: string }
  /** Audio of an answer, in the output format. */
  | {
      readonly type: 'audio'
      readonly responseId: string
      readonly itemId: string
      readonly audio: Uint8Array
      /** Where in the answer it begins, in milliseconds. */
      readonly startMs: number
    }
  | VoiceAnswerEnd
  /** A tool of the client is to be executed; `VoiceLink.answer` with the `inputId` takes its result. */
  | {
      readonly type: 'tool.call'
      readonly responseId: string
      readonly itemId: string
      readonly previousItemId: string | undefined
      readonly inputId: string
      readonly toolCallId: string
      readonly toolName: string
      readonly args: unknown
    }
  | {
      readonly type: 'response.end'
      readonly responseId: string
      readonly status: 'completed' | 'interrupted' | 'canceled' | 'failed'
      readonly usage: Usage
      readonly error?: { readonly code: string; readonly message: string }
    }
  /** The client must discard the audio of an answer that it has not played. */
  | { readonly type: 'clear'; readonly itemId: string; readonly heardMs: number; readonly text: string }
  /** An answer was cut as the client asked for. */
  | { readonly type: 'truncated'; readonly itemId: string; readonly heardMs: number; readonly text: string }
  /** A tool call of the agent waits for an approval. */
  | {
      readonly type: 'approval'
      readonly approvalId: string
      readonly toolName: string
      readonly args: unknown
    }
  /** The call takes no notice of an input, or something failed; the call continues. */
  | { readonly type: 'error'; readonly code: string; readonly message: string }
  /** The audio of the call is recorded. */
  | { readonly type: 'recording' }

/** The connection of a call to its client. */
export interface VoiceLink {
  /** What the client chose before the call began. */
  readonly settings: VoiceSettings
  /** True if the client discards unplayed audio on `clear`; else at most 400 ms are sent ahead. */
  readonly canClear: boolean
  /** True if it sends `played` or `truncate`; else what was sent is taken to be played in real time. */
  readonly reportsPlayback: boolean
  /** What the client does, in order. Iterated once; the last one is `end`. */
  readonly input: AsyncIterable<VoiceInput>
  /** A returned promise resolves when the client takes more. Never throws. */
  send(output: VoiceOutput): Awaitable<void>
  /**
   * Answers an approval, a question or a client tool of the call's run in the name of the caller.
   * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED
   */
  answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<void>
}

/** A runnable that can be called: a call is one run. Its `stream` and `run` take a message, and are a call of one turn. */
export interface VoiceRunnable extends Runnable {
  /** The parts of one call. */
  converse(link: VoiceLink, context: RunContext): AsyncIterable<YieldedPart>
}

/** True if a runnable can be called. */
export function isVoiceRunnable(runnable: Runnable): runnable is VoiceRunnable {
  return typeof (runnable as Partial<VoiceRunnable>).converse === 'function'
}

const strict = { additionalProperties: false } as const
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))
const milliseconds = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum, description }))

// Loose: `requireAudioFormat` names the formats in its error.
const AskedFormatSchema = Type.Unsafe<AudioFormat>(
  Type.Object(
    {
      type: Type.String({
        maxLength: 64,
        description: '`audio/pcm` (16-bit little-endian), `audio/pcmu` or `audio/pcma`; one channel'
      }),
      rate: Type.Number({ description: 'Hz: 8,000 to 48,000; with G.711 8,000' })
    },
    { ...strict, title: 'AudioFormat' }
  )
)

/** The schema of `VoiceTurnSettings`. */
const VoiceTurnSettingsSchema = Type.Unsafe<VoiceTurnSettings>(
  Type.Object(
    {
      detect: flag('False: only a commit ends a turn'),
      threshold: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'Probability from which a frame counts as speech'
        })
      ),
      silence: milliseconds(60_000, 'Milliseconds of silence that end a turn'),
      prefix: milliseconds(10_000, 'Milliseconds before the detected start that belong to the turn'),
      respond: flag('Whether a turn is answered without being asked for'),
      interrupt: flag('Whether speech interrupts an answer')
    },
    strict
  )
)

/** The schema of `VoiceSettings`; the formats are checked by the call. */
export const VoiceSettingsSchema = Type.Unsafe<VoiceSettings>(
  Type.Object(
    {
      input: Type.Optional(AskedFormatSchema),
      output: Type.Optional(AskedFormatSchema),
      modality: Type.Optional(Type.Union([Type.Literal('audio'), Type.Literal('text')])),
      voice: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      instructions: Type.Optional(InstructionsSchema),
      tools: Type.Optional(ClientToolsSchema),
      turns: Type.Optional(VoiceTurnSettingsSchema)
    },
    { ...strict, title: 'VoiceSettings', description: 'What is absent is as the agent has it' }
  )
)

/** The schema of an `AudioFormat`: PCM at 8,000 to 48,000 Hz, G.711 at 8,000 Hz. */
export const AudioFormatSchema = Type.Unsafe<AudioFormat>(
  Type.Union(
    [
      Type.Object(
        {
          type: Type.Literal('audio/pcm'),
          rate: Type.Integer({ minimum: 8_000, maximum: 48_000, description: 'Hz' })
        },
        { additionalProperties: false }
      ),
      Type.Object(
        {
          type: Type.Union([Type.Literal('audio/pcmu'), Type.Literal('audio/pcma')]),
          rate: Type.Literal(8_000)
        },
        { additionalProperties: false }
      )
    ],
    { description: '16-bit little-endian PCM, or G.711; one channel' }
  )
)
const isFormat = checkOf(AudioFormatSchema)

/** PCM at 24,000 Hz. */
export const DEFAULT_AUDIO_FORMAT: AudioFormat = Object.freeze({ type: 'audio/pcm', rate: 24_000 })

/** Checks an audio format; undefined is the default. @throws VOICE_ERR_BAD_FORMAT */
export function requireAudioFormat(format: unknown = DEFAULT_AUDIO_FORMAT): AudioFormat {
  if (isFormat(format)) return format
  const { type, rate } = (format ?? {}) as { type?: unknown; rate?: unknown }
  const asked = typeof type === 'string' ? `${type} at ${String(rate)} Hz` : 'no object with type and rate'
  throw new VOICE_ERR_BAD_FORMAT(
    `${asked.slice(0, 100)}; expected audio/pcm at 8000 to 48000 Hz, audio/pcmu or audio/pcma at 8000 Hz`
  )
}

/** Bytes of one sample. */
export function bytesPerSample({ type }: AudioFormat): number {
  return type === 'audio/pcm' ? 2 : 1
}

/** Milliseconds that so many bytes of audio last. */
export function durationOf(format: AudioFormat, bytes: number): number {
  return (bytes / bytesPerSample(format) / format.rate) * 1_000
}
