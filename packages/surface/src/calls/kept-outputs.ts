import {
  dropOldest,
  durationOf,
  VOICE_ERR_BAD_AFTER,
  VOICE_ERR_BAD_POSITION,
  VOICE_ERR_OUTPUT_GONE,
  VOICE_ERR_UNKNOWN_ITEM,
  type AudioFormat,
  type VoiceOutput
} from '@svc/contract'

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
export class KeptOutputs {
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
