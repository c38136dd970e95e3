// Runs beside the page, in the scope of audio worklets, which the types of the DOM do not have.
declare const sampleRate: number
declare class AudioWorkletProcessor {
  readonly port: MessagePort
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void

/** Hz of what is sent. */
const RATE = 24_000
/** Samples of a message: 40 ms. */
const SIZE = 960
/** Blocks of 128 samples between two reports of what was played: about 100 ms. */
const REPORT = 19

/** Posts the microphone as PCM with 16 bits at 24,000 Hz, whatever rate the context has. */
class Capture extends AudioWorkletProcessor {
  #samples = new Int16Array(SIZE)
  #filled = 0
  // Where the next sample is taken, in samples of the input after the last one of the block before.
  #at = 0
  #last = 0

  process([input]: Float32Array[][]): boolean {
    const block = input?.[0]
    if (block === undefined) return true
    for (; this.#at < block.length; this.#at += sampleRate / RATE) {
      const index = Math.floor(this.#at)
      const before = index === 0 ? this.#last : block[index - 1]!
      this.#push(before + (block[index]! - before) * (this.#at - index))
    }
    this.#at -= block.length
    this.#last = block.at(-1)!
    return true
  }

  #push(value: number): void {
    this.#samples[this.#filled++] = Math.max(-1, Math.min(1, value)) * 32_767
    if (this.#filled < SIZE) return
    this.port.postMessage(this.#samples, [this.#samples.buffer])
    this.#samples = new Int16Array(SIZE)
    this.#filled = 0
  }
}

/** What the page wants: an answer's audio to be played, or silence, for a while or for good. */
export type Order =
  | { readonly itemId: string; readonly samples: Int16Array }
  | { readonly pause: boolean }
  | { readonly clear: number }

/** How many samples of an answer were played; with the `clear` that asked for it. */
export interface Progress {
  readonly itemId: string
  readonly samples: number
  readonly isIdle: boolean
  readonly clear: number | undefined
}

/** Plays the audio of answers in its order, at the rate of its context. */
class Playback extends AudioWorkletProcessor {
  #queue: Extract<Order, { itemId: string }>[] = []
  #offset = 0
  #isPaused = false
  #itemId = ''
  #played = 0
  #blocks = 0

  constructor() {
    super()
    this.port.onmessage = ({ data }: MessageEvent<Order>) => {
      if ('pause' in data) this.#isPaused = data.pause
      else if ('clear' in data) {
        this.#queue = []
        this.#offset = 0
        this.#isPaused = false
        this.#report(data.clear)
      } else this.#queue.push(data)
    }
  }

  process(_inputs: unknown, [output]: Float32Array[][]): boolean {
    const block = output?.[0]
    if (block === undefined || this.#isPaused || this.#queue.length === 0) return true
    for (let index = 0; index < block.length; index++) block[index] = this.#next() / 32_768
    if (this.#queue.length === 0 || ++this.#blocks % REPORT === 0) this.#report()
    return true
  }

  #next(): number {
    const [chunk] = this.#queue
    if (chunk === undefined) return 0
    if (chunk.itemId !== this.#itemId) {
      this.#itemId = chunk.itemId
      this.#played = 0
    }
    const value = chunk.samples[this.#offset++] ?? 0
    this.#played++
    if (this.#offset >= chunk.samples.length) {
      this.#queue.shift()
      this.#offset = 0
    }
    return value
  }

  #report(clear?: number): void {
    const isIdle = this.#queue.length === 0
    const progress: Progress = { itemId: this.#itemId, samples: this.#played, isIdle, clear }
    this.port.postMessage(progress)
  }
}

registerProcessor('capture', Capture)
registerProcessor('playback', Playback)
