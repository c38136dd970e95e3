import { VOICE_ERR_INPUT_FULL } from './errors.ts'
import type { VoiceInput } from './voice.ts'

/** Bytes of waiting inputs: 43 seconds of audio at the default format. */
const MAX_BYTES = 2_097_152
const MAX_INPUTS = 5_000

/** How much may wait in an `InputQueue`. */
interface InputLimits {
  readonly bytes: number
  readonly inputs: number
}

/** The inputs of a call that its runnable has not taken yet. Iterated once. */
export class InputQueue implements AsyncIterableIterator<VoiceInput, undefined> {
  #waiting: VoiceInput[] = []
  #bytes = 0
  #take: ((result: IteratorResult<VoiceInput, undefined>) => void) | undefined
  #closed = false
  readonly #limits: InputLimits

  /** @param limits default: 2 MiB and 5,000 inputs */
  constructor(limits: InputLimits = { bytes: MAX_BYTES, inputs: MAX_INPUTS }) {
    this.#limits = limits
  }

  /** Adds an input. After `end`, inputs are discarded. @throws VOICE_ERR_INPUT_FULL */
  push(input: VoiceInput): void {
    if (this.#closed) return
    const take = this.#take
    this.#take = undefined
    if (take === undefined) this.#add(input)
    else take({ value: input, done: false })
    this.#closed = input.type === 'end'
  }

  next(): Promise<IteratorResult<VoiceInput, undefined>> {
    const value = this.#waiting.shift()
    if (value !== undefined) {
      this.#bytes -= bytesOf(value)
      return Promise.resolve({ value, done: false })
    }
    if (this.#closed) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => (this.#take = resolve))
  }

  /** Discards what waits, and ends the iteration. */
  return(): Promise<IteratorResult<VoiceInput, undefined>> {
    this.#closed = true
    this.#waiting = []
    const end = { value: undefined, done: true } as const
    this.#take?.(end)
    this.#take = undefined
    return Promise.resolve(end)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  // The end and what happens to the connection always have a place.
  #add(input: VoiceInput): void {
    const isOwn = input.type === 'end' || input.type === 'away' || input.type === 'back'
    const bytes = bytesOf(input)
    const { bytes: maxBytes, inputs: maxInputs } = this.#limits
    if (!isOwn && (this.#waiting.length >= maxInputs || this.#bytes + bytes > maxBytes))
      throw new VOICE_ERR_INPUT_FULL()
    this.#bytes += bytes
    this.#waiting.push(input)
  }
}

function bytesOf(input: VoiceInput): number {
  if (input.type === 'audio' || input.type === 'file') return input.audio.byteLength
  const { type } = input
  return type === 'configure' || type === 'text' || type === 'respond' ? JSON.stringify(input).length : 0
}
