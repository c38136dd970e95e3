import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'

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
