import type { WireEvent } from './served-connection.ts'

interface MicrophoneHost {
  readonly detection: () => { silence_duration_ms?: number; prefix_padding_ms?: number } | null | undefined
  readonly send: (event: WireEvent) => void
  readonly commit: (itemId: string, samples: Int16Array) => void
}

const FRAME_MS = 10
const LOUD = 600
const MIN_COMMIT_MS = 100
let turns = 0

/** The input buffer of a session, and its voice activity detection by loudness. */
export class ServedMicrophone {
  readonly #rate: number
  readonly #host: MicrophoneHost
  #buffer: number[] = []
  #received = 0
  #frame: number[] = []
  #speech: { readonly id: string; silentMs: number } | undefined

  constructor(rate: number, host: MicrophoneHost) {
    this.#rate = rate
    this.#host = host
  }

  append(samples: Int16Array): void {
    for (const sample of samples) {
      this.#buffer.push(sample)
      this.#frame.push(sample)
      this.#received++
      if (this.#frame.length * 1000 >= this.#rate * FRAME_MS) this.#endFrame()
    }
  }

  /** Ends the turn under way. False if there is too little audio. */
  commit(): boolean {
    if ((this.#buffer.length * 1000) / this.#rate < MIN_COMMIT_MS) return false
    this.#commit(this.#speech?.id ?? `user_${++turns}`)
    return true
  }

  clear(): void {
    this.#buffer = []
    this.#frame = []
    this.#speech = undefined
  }

  get #ms(): number {
    return (this.#received * 1000) / this.#rate
  }

  #endFrame(): void {
    const frame = this.#frame.splice(0)
    const isLoud = Math.hypot(...frame) / Math.sqrt(frame.length) > LOUD
    const detection = this.#host.detection()
    if (!detection) return
    if (this.#speech === undefined) {
      if (!isLoud) return
      this.#speech = { id: `user_${++turns}`, silentMs: 0 }
      const start = Math.max(0, this.#ms - FRAME_MS - (detection.prefix_padding_ms ?? 0))
      this.#host.send({
        type: 'input_audio_buffer.speech_started',
        item_id: this.#speech.id,
        audio_start_ms: start
      })
    }
    this.#speech.silentMs = isLoud ? 0 : this.#speech.silentMs + FRAME_MS
    if (this.#speech.silentMs < (detection.silence_duration_ms ?? 500)) return
    const { id } = this.#speech
    this.#host.send({ type: 'input_audio_buffer.speech_stopped', item_id: id, audio_end_ms: this.#ms })
    this.#commit(id)
  }

  #commit(id: string): void {
    const samples = Int16Array.from(this.#buffer)
    this.clear()
    this.#host.commit(id, samples)
  }
}
