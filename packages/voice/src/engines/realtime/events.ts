import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import { isRecord } from '@svc/runtime/loop'

/** Raw audio of a realtime session. */
export interface SessionAudio {
  readonly type: 'audio/pcm'
  /** Hz. */
  readonly rate: number
}

/** A function of a realtime session. */
export interface SessionTool {
  readonly type: 'function'
  readonly name: string
  readonly description?: string
  readonly parameters: LanguageModelV4FunctionTool['inputSchema']
}

/** How a realtime model finds the turns of the user. */
export interface SessionTurnDetection {
  /** `disabled` turns it off; null would leave the provider's default on. */
  readonly type: 'server-vad' | 'semantic-vad' | 'disabled'
  readonly threshold?: number
  readonly silenceDurationMs?: number
  readonly prefixPaddingMs?: number
}

/** The settings of a realtime session. */
export interface SessionConfig {
  readonly instructions?: string
  readonly voice?: string
  readonly outputModalities?: ('text' | 'audio')[]
  readonly inputAudioFormat?: SessionAudio
  readonly inputAudioTranscription?: {
    readonly model?: string
    readonly language?: string
    readonly prompt?: string
  }
  readonly outputAudioTranscription?: Readonly<Record<string, never>>
  readonly outputAudioFormat?: SessionAudio
  readonly turnDetection?: SessionTurnDetection
  readonly tools?: SessionTool[]
  readonly providerOptions?: Record<string, unknown>
}

/** An item of the conversation that a client creates. Audio is base64. */
export type ClientItem =
  | { readonly type: 'text-message'; readonly role: 'user'; readonly text: string }
  | { readonly type: 'audio-message'; readonly role: 'user'; readonly audio: string }
  | {
      readonly type: 'function-call-output'
      readonly callId: string
      readonly name: string
      /** JSON. */
      readonly output: string
    }

/** What calls send to a realtime model, before its codec; the names are the AI SDK's. */
export type ClientEvent =
  | { readonly type: 'session-update'; readonly config: SessionConfig; readonly eventId?: string }
  | { readonly type: 'input-audio-append'; readonly audio: string }
  | { readonly type: 'input-audio-commit' }
  | { readonly type: 'input-audio-clear' }
  | { readonly type: 'conversation-item-create'; readonly item: ClientItem }
  | {
      readonly type: 'conversation-item-truncate'
      readonly itemId: string
      readonly contentIndex: number
      readonly audioEndMs: number
    }
  | {
      readonly type: 'response-create'
      readonly options?: { readonly modalities?: string[]; readonly instructions?: string }
    }
  | { readonly type: 'response-cancel' }

/** Token counts of one response; the input includes cached tokens. */
export interface RealtimeUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cachedInputTokens?: number
}

type OfItem = { readonly responseId: string; readonly itemId: string }

/** What calls read of a realtime model's events; the names are the AI SDK's. */
type KnownEvent =
  | { readonly type: 'session-created' | 'session-updated' | 'session-closed' }
  | {
      readonly type: 'speech-started' | 'speech-stopped' | 'audio-committed'
      readonly itemId?: string
    }
  | { readonly type: 'input-transcription-completed'; readonly itemId: string; readonly transcript: string }
  | { readonly type: 'response-created'; readonly responseId: string }
  | {
      readonly type: 'response-done'
      readonly responseId: string
      readonly status: string
      readonly usage?: RealtimeUsage
    }
  | (OfItem & {
      readonly type: 'audio-delta' | 'audio-transcript-delta' | 'text-delta'
      readonly delta: string
    })
  | {
      readonly type: 'function-call-arguments-done'
      readonly responseId: string
      readonly callId: string
      readonly name: string
      /** JSON. */
      readonly arguments: string
    }
  | { readonly type: 'error'; readonly code?: string; readonly clientEventId?: string }
  | { readonly type: 'custom'; readonly rawType: string }

/** An event of a realtime model, with the provider's own. */
export type ServerEvent = KnownEvent & { readonly raw: Readonly<Record<string, unknown>> }

/** What an event says of the user's speech. */
export type SpeechEvent = Pick<
  Extract<ServerEvent, { type: 'speech-started' | 'speech-stopped' | 'audio-committed' }>,
  'itemId' | 'raw'
>

/** The texts without which an event means nothing. */
const REQUIRED: { readonly [T in KnownEvent['type']]: readonly string[] } = {
  'session-created': [],
  'session-updated': [],
  'session-closed': [],
  'speech-started': [],
  'speech-stopped': [],
  'audio-committed': [],
  'input-transcription-completed': ['itemId', 'transcript'],
  'response-created': ['responseId'],
  'response-done': ['responseId', 'status'],
  'audio-delta': ['responseId', 'itemId', 'delta'],
  'audio-transcript-delta': ['responseId', 'itemId', 'delta'],
  'text-delta': ['responseId', 'itemId', 'delta'],
  'function-call-arguments-done': ['responseId', 'callId', 'name', 'arguments'],
  error: [],
  custom: ['rawType']
}

/** The events that a codec made of one frame; leaves out what is unknown or lacks a field. */
export function readServerEvents(parsed: unknown): ServerEvent[] {
  return (Array.isArray(parsed) ? parsed : [parsed]).filter(isKnown)
}

function isKnown(event: unknown): event is ServerEvent {
  if (!isRecord(event) || !isRecord(event['raw'])) return false
  const { type } = event
  if (typeof type !== 'string' || !Object.hasOwn(REQUIRED, type)) return false
  return REQUIRED[type as KnownEvent['type']].every((field) => typeof event[field] === 'string')
}
