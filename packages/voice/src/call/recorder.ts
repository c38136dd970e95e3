import type { RunContext, YieldedPart } from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import { joinSamples } from '../audio/frames.ts'
import { writeWav } from '../audio/wav.ts'

/** Milliseconds of the user's audio that are kept until its turn is over. */
const MAX_PENDING = 180_000

/** Keeps the audio of a call as files of its run, one for each turn and answer. */
export class Recorder {
  readonly #context: RunContext
  readonly #write: (part: YieldedPart) => void
  readonly #rates: { readonly input: number; readonly output: number }
  readonly #keepsUser: boolean
  /** Audio of the user; the first sample is at `#start`. */
  #input: Int16Array[] = []
  #start = 0
  #end = 0
  #answer: Int16Array[] = []
  readonly #saving: Promise<unknown>[] = []

  /**
   * @param rates Hz of the audio from the user, and of answers
   * @param whose whose audio is kept
   */
  constructor(
    context: RunContext,
    rates: { readonly input: number; readonly output: number },
    write: (part: YieldedPart) => void,
    whose: 'both' | 'answers'
  ) {
    this.#context = context
    this.#write = write
    this.#rates = rates
    this.#keepsUser = whose === 'both'
  }

  /** Takes audio of the user. */
  listen(samples: Int16Array): void {
    if (!this.#keepsUser) return
    this.#input.push(samples.slice())
    this.#end += samples.length
    const most = (MAX_PENDING * this.#rates.input) / 1000
    while (this.#end - this.#start > most) this.#start += this.#input.shift()!.length
  }

  /** Takes audio of an answer; it belongs to the recorder. */
  speak(samples: Int16Array): void {
    this.#answer.push(samples)
  }

  /** A turn of the user is over. Times are milliseconds of received audio. */
  turn(itemId: string, startMs: number, endMs: number): void {
    if (!this.#keepsUser) return
    const rate = this.#rates.input
    const all = joinSamples(this.#input)
    const from = Math.max(Math.round((startMs * rate) / 1000) - this.#start, 0)
    const to = Math.max(Math.round((endMs * rate) / 1000) - this.#start, from)
    this.#input = [all.subarray(to)]
    this.#start += Math.min(to, all.length)
    this.#save(itemId, 'user', all.slice(from, to), rate)
  }

  /** An answer is over; `playedMs` milliseconds of it were played. */
  answered(itemId: string, playedMs: number): void {
    const rate = this.#rates.output
    const samples = joinSamples(this.#answer.splice(0)).subarray(0, Math.round((playedMs * rate) / 1000))
    this.#save(itemId, 'assistant', samples, rate)
  }

  /** Resolves when all files are written. */
  async close(): Promise<void> {
    await Promise.all(this.#saving)
  }

  #save(itemId: string, role: 'user' | 'assistant', samples: Int16Array, rate: number): void {
    if (samples.length > 0) this.#saving.push(this.#keep(itemId, role, samples, rate))
  }

  async #keep(itemId: string, role: 'user' | 'assistant', samples: Int16Array, rate: number): Promise<void> {
    const mimeType = 'audio/wav'
    const filename = `${itemId}.wav`
    const kept = await keepFile(this.#context, { mimeType, filename, data: writeWav({ samples, rate }) })
    const { fileId, size = 0, sha256 = '' } = kept
    if (fileId === undefined) return
    const durationMs = (samples.length * 1000) / rate
    this.#write({ type: 'voice.audio', itemId, role, fileId, mimeType, durationMs, size, sha256 })
  }
}
