type Raw = Readonly<Record<string, unknown>>

/** Milliseconds until Google ends a connection, of its `goAway` event; undefined if it does not say. */
export function timeLeftOf(raw: Raw): number | undefined {
  const { timeLeft } = (raw['goAway'] ?? {}) as { timeLeft?: unknown }
  const seconds = typeof timeLeft === 'string' ? Number.parseFloat(timeLeft) : Number.NaN
  return seconds >= 0 ? seconds * 1_000 : undefined
}

/** True if Google marks the transcript of an utterance as complete. */
export function isFinished(raw: Raw): boolean {
  const { serverContent, inputTranscription = serverContent?.inputTranscription } = raw as {
    serverContent?: { inputTranscription?: { finished?: boolean } }
    inputTranscription?: { finished?: boolean }
  }
  return inputTranscription?.finished === true
}

/** The id of the client's event that an `error` event is about. */
export function refusedEventOf(raw: Raw): string | undefined {
  const { event_id: id } = (raw['error'] ?? {}) as { event_id?: unknown }
  return typeof id === 'string' ? id : undefined
}

/** A code that is a plain word; anything else may quote what was sent. */
export function toPlainCode(code: string | undefined): string | undefined {
  return code !== undefined && /^[a-z_]{1,64}$/.test(code) ? code : undefined
}
