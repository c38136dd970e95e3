import { FrameCutter, joinSamples } from '../audio/frames.ts'
import type { TurnDetector, VoiceDetection, VoiceDetector } from './detector.ts'
import { Endpoint, type EndpointEvent, type EndpointSettings } from './endpoint.ts'

/** What a finder needs for one call. */
export interface TurnFinderOptions {
  readonly settings: EndpointSettings
  /** Decides whether a pause is the end of the turn; without it, each pause is. */
  readonly turnDetector?: TurnDetector | undefined
  /** The words of the turn under way, for the turn detector. */
  transcript(): string
  /** Takes an event at once; never throws. */
  notify(event: TurnEvent): void
  /** A detector failed: the frame is judged like the one before, a pause ends the turn. */
  onError(error: unknown): void
}

/** What happens in the audio of a call; pauses are the finder's own. */
export type TurnEvent = Exclude<EndpointEvent, { type: 'pause' | 'resume' }>

/** Milliseconds of a turn that a turn detector gets. */
const TURN_AUDIO = 8_000

/** Finds the turns in the audio of one call, by a detector that may be asynchronous. */
export class TurnFinder {
  /** Hz of the samples that it takes. */
  readonly rate: number
  readonly #options: TurnFinderOptions
  readonly #detection: VoiceDetection
  readonly #endpoint: Endpoint
  readonly #frames: FrameCutter
  // Frames and commands, in order, while the detector is busy.
  readonly #waiting: (Int16Array | (() => void))[] = []
  #isBusy = false
  #isClosed = false
  #probability = 0
  #pause: AbortController | undefined
  // The end of the turn under way; with a turn detector only.
  #audio: Int16Array[] = []

  /** @throws RUN_ERR_NOT_INSTALLED */
  static async open(detector: VoiceDetector, options: TurnFinderOptions): Promise<TurnFinder> {
    return new TurnFinder(detector, await detector.create(), options)
  }

  private constructor({ rate, frame }: VoiceDetector, detection: VoiceDetection, options: TurnFinderOptions) {
    this.rate = rate
    this.#options = options
    this.#detection = detection
    this.#endpoint = new Endpoint(rate, options.settings, (event) => this.#onEvent(event))
    this.#frames = new FrameCutter(frame, (each) => this.#take(each))
  }

  /** Milliseconds of audio that a `commit` would take. */
  get pendingMs(): number {
    let samples = this.#frames.filled
    for (const each of this.#waiting) samples += typeof each === 'function' ? 0 : each.length
    return this.#endpoint.pendingMs + Math.round((samples * 1000) / this.rate)
  }

  /** Takes audio of the call. The samples are only valid during the call. */
  append(samples: Int16Array): void {
    if (!this.#isClosed) this.#frames.push(samples)
  }

  /** Ends the turn under way, or makes one of the audio at hand. */
  commit(): void {
    this.#frames.flush()
    this.#take(() => this.#endpoint.commit())
  }

  /** Discards the turn under way, and the audio at hand. */
  clear(): void {
    this.#frames.clear()
    this.#take(() => this.#endpoint.clear())
  }

  /** Changes the settings for the audio to come. */
  configure(settings: EndpointSettings): void {
    this.#take(() => {
      this.#endpoint.settings = settings
    })
  }

  /** Releases the detector; nothing is reported any more. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#waiting.length = 0
    this.#pause?.abort()
    this.#detection.close()
  }

  #take(each: Int16Array | (() => void)): void {
    if (this.#isClosed) return
    if (this.#isBusy) this.#waiting.push(each)
    else this.#process(each)
  }

  #process(each: Int16Array | (() => void)): void {
    if (typeof each === 'function') return each()
    try {
      const probability = this.#endpoint.settings.detect ? this.#detection.probability(each) : 0
      if (typeof probability === 'number') return this.#advance(each, probability)
      this.#isBusy = true
      void this.#settle(each, probability)
    } catch (err) {
      this.#options.onError(err)
      this.#advance(each, this.#probability)
    }
  }

  async #settle(frame: Int16Array, pending: PromiseLike<number>): Promise<void> {
    const probability = await Promise.resolve(pending).catch((err: unknown) => {
      if (!this.#isClosed) this.#options.onError(err)
      return this.#probability
    })
    this.#isBusy = false
    if (this.#isClosed) return
    this.#advance(frame, probability)
    while (!this.#isBusy) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#process(next)
    }
  }

  #advance(frame: Int16Array, probability: number): void {
    this.#probability = probability
    this.#endpoint.advance(frame, probability)
  }

  #onEvent(event: EndpointEvent): void {
    if (event.type === 'pause') return this.#onPause()
    if (event.type === 'resume' || event.type === 'end') this.#pause?.abort()
    if (event.type === 'resume') return
    if (event.type === 'audio' && this.#options.turnDetector !== undefined) this.#keep(event.samples)
    if (event.type === 'end') this.#audio = []
    this.#options.notify(event)
  }

  #onPause(): void {
    const { turnDetector } = this.#options
    if (turnDetector === undefined) return this.#endpoint.end()
    this.#pause = new AbortController()
    void this.#ask(turnDetector, this.#pause.signal)
  }

  async #ask(turnDetector: TurnDetector, signal: AbortSignal): Promise<void> {
    const turn = { transcript: this.#options.transcript(), audio: joinSamples(this.#audio), rate: this.rate }
    let probability = 1
    try {
      probability = await turnDetector.probability(turn, signal)
    } catch (err) {
      if (!signal.aborted) this.#options.onError(err)
    }
    if (probability < 0.5) return
    // Aborted once the user speaks again, or the turn has ended otherwise.
    this.#take(() => {
      if (!signal.aborted) this.#endpoint.end()
    })
  }

  #keep(samples: Int16Array): void {
    this.#audio.push(samples)
    const most = (TURN_AUDIO * this.rate) / 1000 / samples.length
    if (this.#audio.length > most) this.#audio.shift()
  }
}
