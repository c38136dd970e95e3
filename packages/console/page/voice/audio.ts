import type { Order, Progress } from './audio-worklet.ts'

/** Hz of the audio in both directions; it is PCM with 16 bits. */
export const RATE = 24_000

const worklet = new URL(AUDIO_WORKLET, import.meta.url)

/** What the microphone of a call does. */
export class Microphone {
  readonly #context = new AudioContext()
  #stream: MediaStream | undefined
  #isClosed = false

  /**
   * Asks for the microphone, and captures it until `close`. Browsers remove the echo of what the page plays; their gain control and noise
   * suppression make speech harder to understand for models.
   * @param onAudio gets 40 ms at a time
   * @throws DOMException if the visitor denies it, or there is none
   */
  async open(onAudio: (samples: Int16Array) => void): Promise<void> {
    this.#stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: false, autoGainControl: false }
    })
    await this.#context.audioWorklet.addModule(worklet)
    if (this.#isClosed) return this.#release()
    const capture = new AudioWorkletNode(this.#context, 'capture', { numberOfOutputs: 0 })
    capture.port.onmessage = ({ data }: MessageEvent<Int16Array>) => onAudio(data)
    this.#context.createMediaStreamSource(this.#stream).connect(capture)
    await this.#context.resume()
  }

  /** Releases the microphone; safe to call twice. */
  close(): void {
    if (!this.#isClosed) void this.#context.close()
    this.#isClosed = true
    this.#release()
  }

  #release(): void {
    for (const track of this.#stream?.getTracks() ?? []) track.stop()
  }
}

/** Plays the answers of a call. */
export class Speaker {
  readonly #context = new AudioContext({ sampleRate: RATE })
  readonly #waiting: ((progress: Progress) => void)[] = []
  #node: AudioWorkletNode | undefined

  /** @param onProgress about ten times a second while something is played, and at its end */
  async open(onProgress: (progress: Progress) => void): Promise<void> {
    await this.#context.audioWorklet.addModule(worklet)
    this.#node = new AudioWorkletNode(this.#context, 'playback', {
      numberOfInputs: 0,
      outputChannelCount: [1]
    })
    this.#node.connect(this.#context.destination)
    this.#node.port.onmessage = ({ data }: MessageEvent<Progress>) => {
      if (data.clear === undefined) onProgress(data)
      else this.#waiting[data.clear]!(data)
    }
    await this.#context.resume()
  }

  /** Adds audio to the end of what is played. */
  play(itemId: string, samples: Int16Array): void {
    this.#order({ itemId, samples })
  }

  /** Falls silent and keeps what is left, or continues with it. */
  pause(pause: boolean): void {
    this.#order({ pause })
  }

  /** Discards what is left, and says how far it came. */
  clear(): Promise<Progress> {
    return new Promise((resolve) => this.#order({ clear: this.#waiting.push(resolve) - 1 }))
  }

  close(): void {
    void this.#context.close()
  }

  #order(order: Order): void {
    this.#node?.port.postMessage(order)
  }
}
