import {
  bytesPerSample,
  durationOf,
  isPromise,
  type AudioFormat,
  type Awaitable,
  type VoiceOutput
} from '@svc/contract'

/** Milliseconds of audio that a client may have in advance. */
const MAX_AHEAD = 400
/** Milliseconds of the pieces of longer audio. */
const PIECE = 100

type Audio = Extract<VoiceOutput, { type: 'audio' }>
type Send = (output: VoiceOutput) => Awaitable<void>

interface Queued {
  readonly output: VoiceOutput
  sent?(): void
}

/**
 * Holds the audio of answers back for clients that cannot discard it: at most 400 milliseconds are sent before they are due. `clear`
 * discards what is held back of its answer. Outputs of a response stay in order.
 */
export class OutputPacer {
  readonly #send: Send
  readonly #format: () => AudioFormat
  #queue: Queued[] = []
  #isPumping = false
  // When all audio sent so far will have been played, by a monotonic clock.
  #playedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(send: Send, format: () => AudioFormat) {
    this.#send = send
    this.#format = format
  }

  /** Sends an output when it is due; the promise resolves then. */
  send(output: VoiceOutput): Awaitable<void> {
    if (this.#isClosed) return output.type === 'audio' ? undefined : this.#send(output)
    if (output.type === 'clear') return this.#clear(output)
    if (!('responseId' in output)) return this.#send(output)
    const sent = new Promise<void>((resolve) => {
      const pieces = output.type === 'audio' ? this.#split(output) : [output]
      const last = pieces.pop()!
      for (const piece of pieces) this.#queue.push({ output: piece })
      this.#queue.push({ output: last, sent: resolve })
    })
    void this.#pump()
    return sent
  }

  /** Discards the audio that is held back, and all that follows; other outputs no longer wait. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const { output, sent } of this.#queue.splice(0)) {
      if (output.type !== 'audio') void this.#send(output)
      sent?.()
    }
  }

  #clear(output: Extract<VoiceOutput, { type: 'clear' }>): Awaitable<void> {
    const isCleared = (each: VoiceOutput) => each.type === 'audio' && each.itemId === output.itemId
    for (const { output: each, sent } of this.#queue) if (isCleared(each)) sent?.()
    this.#queue = this.#queue.filter((queued) => !isCleared(queued.output))
    this.#playedAt = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
    void this.#pump()
    return this.#send(output)
  }

  async #pump(): Promise<void> {
    if (this.#isPumping || this.#timer !== undefined) return
    this.#isPumping = true
    while (this.#queue.length > 0) {
      const { output, sent } = this.#queue[0]!
      const wait = output.type === 'audio' ? this.#waitFor(output) : 0
      if (wait > 0) {
        this.#timer = setTimeout(() => {
          this.#timer = undefined
          void this.#pump()
        }, wait)
        break
      }
      this.#queue.shift()
      const taken = this.#send(output)
      if (isPromise(taken)) await taken
      sent?.()
    }
    this.#isPumping = false
  }

  // Counts the audio if it is due; else the milliseconds until then.
  #waitFor({ audio }: Audio): number {
    const now = performance.now()
    const ahead = Math.max(this.#playedAt - now, 0)
    const ms = durationOf(this.#format(), audio.byteLength)
    if (ahead > 0 && ahead + ms > MAX_AHEAD) return ahead + ms - MAX_AHEAD
    this.#playedAt = now + ahead + ms
    return 0
  }

  #split(output: Audio): Audio[] {
    const format = this.#format()
    const bytes = Math.floor((format.rate * PIECE) / 1_000) * bytesPerSample(format)
    const pieces: Audio[] = []
    for (let start = 0; start < output.audio.byteLength; start += bytes) {
      const startMs = output.startMs + durationOf(format, start)
      pieces.push({ ...output, audio: output.audio.subarray(start, start + bytes), startMs })
    }
    return pieces.length === 0 ? [output] : pieces
  }
}
