import {
  bytesPerSample,
  dropOldest,
  durationOf,
  isPromise,
  type AudioFormat,
  type Awaitable,
  type VoiceInput,
  type VoiceOutput
} from '@svc/contract'
import {
  VOICE_ERR_BAD_AFTER,
  VOICE_ERR_BAD_POSITION,
  VOICE_ERR_OUTPUT_GONE,
  VOICE_ERR_UNKNOWN_ITEM
} from '@svc/contract/errors'

/** How a call ended: its run failed, was canceled, or completed. */
export type CallEnd =
  | { readonly status: 'completed' | 'canceled' }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } }

/** The connection of a client to its call, as a surface implements it. None of its methods throws. */
export interface CallConnection {
  /**
   * Sends an output. A returned promise resolves when the connection takes more; until then it gets no other one.
   * @param position that of the output in the call, from 1; a client resumes after it
   */
  send(output: VoiceOutput, position: number): Awaitable<void>
  /** The last message: the call has ended. */
  ended(end: CallEnd): void
  /** The last message: another connection has the call now. */
  replaced(): void
}

/** What a client sends to its call; the rest of `VoiceInput` is up to its connection. */
export type ClientInput = Exclude<VoiceInput, { type: 'away' | 'back' | 'end' }>

/** Bytes of the kept outputs: 87 seconds of audio at the default format. */
const MAX_BYTES = 4_194_304
/** What an output other than audio counts for. */
const SMALL = 256
/** Answers whose length is known. */
const MAX_ANSWERS = 256

/**
 * Numbers the outputs of a call, from 1, and keeps those that the client may not have received: for a connection that comes back. What
 * was acknowledged or played has been received; beyond 4 MiB the oldest are dropped.
 */
class KeptOutputs {
  #kept: VoiceOutput[] = []
  #first = 1
  #bytes = 0
  // Milliseconds of audio by answer, the oldest answer first.
  readonly #sentMs = new Map<string, number>()

  /** The position of the latest output; 0 before the first. */
  get last(): number {
    return this.#first + this.#kept.length - 1
  }

  /** The output at a position that is kept. */
  at(position: number): VoiceOutput {
    return this.#kept[position - this.#first]!
  }

  /** Adds an output. @param format that of its audio */
  add(output: VoiceOutput, format: AudioFormat): void {
    this.#kept.push(output)
    this.#bytes += bytesOf(output)
    if (output.type === 'audio')
      this.#setLength(output.itemId, output.startMs + durationOf(format, output.audio.byteLength))
    else if (output.type === 'answer.start') this.#setLength(output.itemId, 0)
  }

  /** Drops the oldest outputs before a position while too many bytes are kept. */
  trim(before: number): void {
    let count = 0
    let bytes = this.#bytes
    while (bytes > MAX_BYTES && this.#first + count < before) bytes -= bytesOf(this.#kept[count++]!)
    this.#drop(count)
  }

  /** The client has received all outputs up to a position. */
  acknowledged(position: number): void {
    this.#drop(Math.max(position - this.#first + 1, 0))
  }

  /** The client has played `ms` milliseconds of an answer: drops the outputs before a position that it must have received for that. */
  played(itemId: string, ms: number, before: number): void {
    const isPlayed = (output: VoiceOutput) =>
      output.type === 'audio' && output.itemId === itemId && output.startMs < ms
    const last = this.#kept.slice(0, before - this.#first).findLastIndex(isPlayed)
    this.#drop(last + 1)
  }

  /** Checks a place in an answer. @throws VOICE_ERR_UNKNOWN_ITEM, VOICE_ERR_BAD_POSITION */
  requireSent(itemId: string, ms: number): void {
    const sent = this.#sentMs.get(itemId)
    if (sent === undefined) throw new VOICE_ERR_UNKNOWN_ITEM(itemId)
    if (ms > Math.ceil(sent)) throw new VOICE_ERR_BAD_POSITION(itemId, Math.ceil(sent))
  }

  /** Checks that all outputs after a position are kept. @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE */
  requireAfter(after: number): void {
    if (after > this.last) throw new VOICE_ERR_BAD_AFTER(this.last)
    if (after < this.#first - 1) throw new VOICE_ERR_OUTPUT_GONE(this.#first - 1)
  }

  // Audio may be sent again from an earlier place.
  #setLength(itemId: string, ms: number): void {
    this.#sentMs.set(itemId, Math.max(ms, this.#sentMs.get(itemId) ?? 0))
    dropOldest(this.#sentMs, MAX_ANSWERS)
  }

  #drop(count: number): void {
    if (count === 0) return
    for (const output of this.#kept.splice(0, count)) this.#bytes -= bytesOf(output)
    this.#first += count
  }
}

function bytesOf(output: VoiceOutput): number {
  return output.type === 'audio' ? output.audio.byteLength + SMALL : SMALL
}

/** An output whose sender waits until the connection takes more. */
interface Waiting {
  readonly position: number
  resolve(): void
}

/** Sends the outputs of a call to one connection after another, at the pace of each: none is lost and none comes twice. */
export class OutputFeed {
  readonly #kept = new KeptOutputs()
  #connection: CallConnection | undefined
  // The position of the next output to send.
  #next = 1
  #isFull = false
  #waiting: Waiting[] = []
  #isReleased = false
  #end: CallEnd | undefined

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Adds an output. The promise resolves once it is sent and the connection takes more, or the call has ended. */
  push(output: VoiceOutput, format: AudioFormat): Awaitable<void> {
    if (this.#end !== undefined) return undefined
    this.#kept.add(output, format)
    const position = this.#kept.last
    this.#pump()
    this.#kept.trim(this.connected ? this.#next : position)
    if (this.#isReleased || (this.#next > position && !this.#isFull)) return undefined
    return new Promise((resolve) => this.#waiting.push({ position, resolve }))
  }

  /** Checks that all outputs after a position are kept. @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE */
  requireAfter(after: number): void {
    this.#kept.requireAfter(after)
  }

  /**
   * Sends to a connection from now on, instead of an earlier one.
   * @param after the last output that the client has; default: the latest
   * @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE
   */
  connect(connection: CallConnection, after = this.#kept.last): void {
    this.#kept.requireAfter(after)
    const earlier = this.#connection
    this.#connection = connection
    this.#next = after + 1
    this.#isFull = false
    earlier?.replaced()
    this.#pump()
  }

  /** Sends no more to a connection; false if it is not the current one. */
  disconnect(connection: CallConnection): boolean {
    if (this.#connection !== connection) return false
    this.#connection = undefined
    this.#isFull = false
    return true
  }

  /** The client has received all outputs up to a position that was sent to it. */
  acknowledged(position: number): void {
    this.#kept.acknowledged(Math.min(position, this.#next - 1))
  }

  /** The client has played `ms` milliseconds of an answer. @throws VOICE_ERR_UNKNOWN_ITEM, VOICE_ERR_BAD_POSITION */
  played(itemId: string, ms: number): void {
    this.#kept.requireSent(itemId, ms)
    this.#kept.played(itemId, ms, this.#next)
  }

  /** No sender waits any longer: the call is about to end, whether its client takes more or not. */
  release(): void {
    this.#isReleased = true
    for (const { resolve } of this.#waiting) resolve()
    this.#waiting = []
  }

  /** Takes no more outputs; the connection gets the end after what it has not received yet. */
  end(end: CallEnd): void {
    this.#end = end
    this.#pump()
    this.release()
  }

  #pump(): void {
    const connection = this.#connection
    while (connection !== undefined && connection === this.#connection && !this.#isFull) {
      if (this.#next > this.#kept.last) break
      const position = this.#next++
      const taken = connection.send(this.#kept.at(position), position)
      if (!isPromise(taken)) continue
      this.#isFull = true
      void taken.then(() => this.#resume(connection))
    }
    this.#settle()
  }

  #resume(connection: CallConnection): void {
    if (this.#connection !== connection) return
    this.#isFull = false
    this.#pump()
  }

  #settle(): void {
    if (this.#isFull) return
    while (this.#waiting.length > 0 && this.#waiting[0]!.position < this.#next)
      this.#waiting.shift()!.resolve()
    const isSent = this.#next > this.#kept.last
    if (this.#end === undefined || this.#connection === undefined || !isSent) return
    const connection = this.#connection
    this.#connection = undefined
    connection.ended(this.#end)
  }
}

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
