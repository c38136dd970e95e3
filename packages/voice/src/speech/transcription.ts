/** The transcription of one turn of the user, from its first audio. */
export interface TurnTranscription {
  /** Takes audio of the turn. The samples belong to the transcription. */
  push(samples: Int16Array): void
  /** The audio is complete. */
  end(): void
  /** Transcribes an audio file instead. */
  read(audio: Uint8Array, mimeType: string): void
  /** Ends it: nothing more is reported. */
  stop(): void
}

/** What a transcription reports: once `final` words, or a failure. */
export interface TranscriptionHost {
  /** @param language BCP 47 */
  words(text: string, final: boolean, language?: string): void
  /** RUN_ERR_MODEL_…, VOICE_ERR_TRANSCRIPTION_TIMEOUT */
  fail(error: unknown): void
}

/** Begins the transcription of a turn. */
export type OpenTranscription = (host: TranscriptionHost) => TurnTranscription

/** The words of a turn. */
export interface Transcript {
  readonly text: string
  /** BCP 47. */
  readonly language?: string | undefined
}

/** A transcript as a provider returns it; a language that is no text is none. @throws TypeError if its text is none */
export function toTranscript(text: string, language: unknown): Transcript {
  return { text: text.trim(), language: typeof language === 'string' ? language : undefined }
}
