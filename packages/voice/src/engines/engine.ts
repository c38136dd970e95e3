import type { Awaitable, RunContext, Usage, VoiceSettings, YieldedPart } from '@svc/contract'

/** What was played of an answer, without what the call said itself. */
export interface PlayedAnswer {
  /** Milliseconds since the answer began. */
  readonly ms: number
  readonly text: string
}

/** A turn of the user that waits for an answer. */
export interface UserTurn {
  readonly itemId: string
  /** Undefined if it has no transcript yet; with `answersAudio` only. */
  readonly text: string | undefined
}

/** Content of a turn that was not spoken into the microphone. */
export type WrittenTurn =
  | { readonly itemId: string; readonly text: string }
  /** An audio file as it is, such as MP3. */
  | { readonly itemId: string; readonly audio: Uint8Array; readonly mimeType: string }

/** One answer that an engine is asked for. */
export interface AnswerRequest {
  /** Counts the answers of the call, from 0. */
  readonly index: number
  /** All turns since the last request, in their order; none if the client asks for one more answer. */
  readonly turns: readonly UserTurn[]
  readonly instructions: string | undefined
  readonly modality: 'audio' | 'text'
}

/** What an engine reports to its call, in order. */
export type VoiceEngineEvent =
  /** The user began to speak, in milliseconds of the audio received so far; `itemId` names the turn to come. */
  | { readonly type: 'speech.start'; readonly itemId: string; readonly atMs: number }
  /** The user has spoken for `interrupt.after`. */
  | { readonly type: 'speech.interrupt'; readonly itemId: string }
  /** Without a `turn` of its id by then, it was no speech. */
  | { readonly type: 'speech.stop'; readonly itemId: string; readonly atMs: number }
  /**
   * A turn of the user is over, by silence or by `commit`. The call takes turns in the order of these events, so that an engine reports
   * a turn that arrived early after its predecessor.
   */
  | {
      readonly type: 'turn'
      readonly itemId: string
      readonly startMs: number
      readonly endMs: number
      /** Milliseconds from the last speech to the end of the turn; 0 for a `commit`. */
      readonly endpointMs: number
    }
  /** The words of a turn so far; of a `final` one, all of them. May come before the turn is over. */
  | {
      readonly type: 'transcript'
      readonly itemId: string
      readonly text: string
      readonly final: boolean
      /** BCP 47. */
      readonly language?: string
    }
  | { readonly type: 'transcript.failed'; readonly itemId: string; readonly error: unknown }
  /** An increment of the text of the answer. */
  | { readonly type: 'text'; readonly delta: string }
  /** Audio of the answer, or of a `say`, at `outputRate`; the samples belong to the call. */
  | { readonly type: 'audio'; readonly of: 'answer' | 'say'; readonly samples: Int16Array }
  /** The answer is complete: the engine now waits for `delivered` or `interrupt`. Absent if there is no answer. */
  | { readonly type: 'answer.end' }
  /** The last event of a request. After an error the call still reports by `interrupt` what was played. */
  | { readonly type: 'response.end'; readonly usage: Usage; readonly error?: unknown }
  /** The audio of a `say` is complete. */
  | { readonly type: 'said' }
  /** The connection of the engine is opened again; the call continues. */
  | { readonly type: 'reconnect'; readonly attempt: number; readonly reason: string }
  /** Something failed; the call continues unless it is `fatal`. */
  | { readonly type: 'error'; readonly error: unknown; readonly fatal: boolean }

/** What a call offers to its engine. */
export interface EngineHost {
  /** The context of the call: what it asks its client for, such as an approval, reaches the call. Its signal aborts when the call ends. */
  readonly context: RunContext
  /** What the client chose; the agent's own options are the engine's. */
  readonly settings: VoiceSettings
  /** Takes an event at once; never throws. */
  notify(event: VoiceEngineEvent): void
  /** Writes a part of the answer into the run's log, such as those of tools; resolves when it is written. */
  emit(part: YieldedPart): Promise<void>
}

/** Begins the engine of one call. @throws if it cannot: then the call fails */
export type OpenVoiceEngine = (host: EngineHost) => Awaitable<VoiceEngine>

/**
 * The part of a call that receives audio, answers and speaks. It takes one request at a time, and never begins an answer by itself: the call
 * owns the order of items, the playout and interruptions. No method throws; failures are events.
 */
export interface VoiceEngine {
  readonly name: 'cascade' | 'realtime'
  /** Hz of the samples that it takes. */
  readonly inputRate: number
  /** Hz of the samples that it sends. */
  readonly outputRate: number
  /** True if it answers audio itself; else the call asks for an answer once the transcript is there. */
  readonly answersAudio: boolean
  /** Takes audio of the microphone; the samples are only valid during the call. */
  append(samples: Int16Array): void
  /** Ends the turn under way; `itemId` names it unless its speech was reported under another. */
  commit(itemId: string): void
  /** Discards the audio that belongs to no turn yet, with the speech in it. */
  clear(): void
  /** Adds a turn that the call has taken already; the words of a file follow as a `transcript`. */
  write(turn: WrittenTurn): void
  /** Asks for an answer; ends with `response.end`. */
  respond(request: AnswerRequest): void
  /** Speaks a text of the call, such as a greeting, that is no part of the answer; ends with `said`. */
  say(text: string): void
  /** The text of the answer up to a time, in milliseconds since it began, of its own audio. */
  textAt(ms: number): string
  /** All of the answer was played. */
  delivered(played: PlayedAnswer): void
  /**
   * Ends the answer early, and what a `say` has not spoken yet: model and speech stop. A tool under way finishes, its result is kept for
   * the next answer, and `response.end` follows then, if an answer was asked for.
   */
  interrupt(played: PlayedAnswer): void
  /** The settings, complete, from now on. */
  configure(settings: VoiceSettings): void
  /** Releases everything; later events are ignored. */
  close(): Awaitable<void>
}
