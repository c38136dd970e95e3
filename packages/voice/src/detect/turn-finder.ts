import { FrameCutter, joinSamples } from '../audio/codec.ts'
import type { TurnDetector, VoiceDetection, VoiceDetector } from './fvad.ts'

/** How turns are found. Times are milliseconds of audio. */
export interface EndpointSettings {
  /** False: all audio belongs to the turn, which only `commit` ends. */
  readonly detect: boolean
  /** Probability from which a frame counts as speech, 0 to 1. */
  readonly threshold: number
  /** Silence after which a turn may be over. */
  readonly silence: number
  /** Silence that ends a turn. */
  readonly maxSilence: number
  /** Audio before the detected start that belongs to the turn. */
  readonly prefix: number
  /** Speech that interrupts an answer. */
  readonly interruptAfter: number
}

/** What happens in the audio of a call. Times are milliseconds since its beginning. */
export type EndpointEvent =
  /** A turn may have begun; with `detect` only. */
  | { readonly type: 'start'; readonly atMs: number }
  /** Audio of the turn, from `prefix` on. The samples belong to the receiver. */
  | { readonly type: 'audio'; readonly samples: Int16Array }
  /** The user has spoken for `interruptAfter`; once a turn, with `detect` only. */
  | { readonly type: 'interrupt' }
  /** `silence` has passed; `end` makes it the end of the turn. */
  | { readonly type: 'pause' }
  /** The user speaks again after a `pause`. */
  | { readonly type: 'resume' }
  | {
      readonly type: 'end'
      /** Of the audio of the turn. */
      readonly startMs: number
      readonly endMs: number
      /** When the user stopped to speak. */
      readonly speechEndMs: number
      /** False if there was too little speech for a turn, or if it was cleared. */
      readonly isTurn: boolean
    }

/** A frame that was speech stays it down to this much below the threshold. */
const HYSTERESIS = 0.15
/** Uninterrupted speech that begins a turn, in milliseconds; shorter sounds are clicks. */
const START = 60
/** Speech that a turn has at least. */
const MIN_SPEECH = 100
/** A shorter gap does not interrupt the speech that interrupts an answer. */
const MAX_GAP = 100
/** A longer turn is ended, so that noise cannot fill the memory. */
const MAX_TURN = 120_000

// Lengths and positions are in samples.
interface OpenTurn {
  readonly start: number
  spoken: number
  /** Speech without a gap of more than `MAX_GAP`. */
  run: number
  speechEnd: number
  hasInterrupted: boolean
  isPaused: boolean
}

/** Finds the turns in the frames of one call. Counts time in samples: it needs no clock. */
class Endpoint {
  settings: EndpointSettings
  readonly #perMs: number
  readonly #notify: (event: EndpointEvent) => void
  readonly #recent = new RecentFrames()
  #position = 0
  #isSpeech = false
  // Speech at the end of the recent frames.
  #onset = 0
  #turn: OpenTurn | undefined

  /** @param rate Hz of the frames */
  constructor(rate: number, settings: EndpointSettings, notify: (event: EndpointEvent) => void) {
    this.settings = settings
    this.#perMs = rate / 1000
    this.#notify = notify
  }

  /** Milliseconds of audio that a `commit` would take. */
  get pendingMs(): number {
    const length = this.#turn === undefined ? this.#recent.length : this.#position - this.#turn.start
    return Math.round(length / this.#perMs)
  }

  /** Takes the next frame, with its probability of speech. The frame belongs to the endpoint. */
  advance(frame: Int16Array, probability: number): void {
    const { detect, threshold, prefix } = this.settings
    this.#position += frame.length
    this.#isSpeech = detect && probability >= (this.#isSpeech ? threshold - HYSTERESIS : threshold)
    if (this.#turn !== undefined) {
      this.#notify({ type: 'audio', samples: frame })
      this.#follow(this.#turn, frame.length)
      return
    }
    this.#onset = this.#isSpeech ? this.#onset + frame.length : 0
    this.#recent.push(frame, prefix * this.#perMs + this.#onset)
    if (detect && this.#onset < START * this.#perMs) return
    if (detect) this.#notify({ type: 'start', atMs: this.#toMs(this.#position - this.#onset) })
    this.#follow(this.#open(), 0)
  }

  /** Ends the turn under way, or makes one of the audio at hand. */
  commit(): void {
    this.#end(this.#turn ?? this.#open(), true)
  }

  /** Ends the turn under way, as after a `pause`. */
  end(): void {
    if (this.#turn !== undefined) this.#end(this.#turn, this.#turn.spoken >= MIN_SPEECH * this.#perMs)
  }

  /** Discards the turn under way, and the audio at hand. */
  clear(): void {
    if (this.#turn !== undefined) this.#end(this.#turn, false)
    this.#reset()
  }

  // Begins a turn with the audio at hand.
  #open(): OpenTurn {
    const turn = {
      start: this.#position - this.#recent.length,
      spoken: this.#onset,
      run: this.#onset,
      speechEnd: this.#position,
      hasInterrupted: false,
      isPaused: false
    }
    this.#turn = turn
    for (const samples of this.#recent.take()) this.#notify({ type: 'audio', samples })
    return turn
  }

  #follow(turn: OpenTurn, length: number): void {
    if (!this.settings.detect) turn.speechEnd = this.#position
    else if (this.#isSpeech) this.#speak(turn, length)
    else this.#pause(turn)
    if (this.#turn === turn && this.#position - turn.start >= MAX_TURN * this.#perMs) this.#end(turn, true)
  }

  #pause(turn: OpenTurn): void {
    const { silence, maxSilence } = this.settings
    const quiet = (this.#position - turn.speechEnd) / this.#perMs
    if (!turn.isPaused && quiet >= silence) {
      turn.isPaused = true
      this.#notify({ type: 'pause' })
    }
    if (this.#turn === turn && quiet >= maxSilence) this.end()
  }

  #speak(turn: OpenTurn, length: number): void {
    const gap = this.#position - length - turn.speechEnd
    turn.run = (gap > MAX_GAP * this.#perMs ? 0 : turn.run) + length
    turn.spoken += length
    turn.speechEnd = this.#position
    if (turn.isPaused) {
      turn.isPaused = false
      this.#notify({ type: 'resume' })
    }
    if (turn.hasInterrupted || turn.run < this.settings.interruptAfter * this.#perMs) return
    turn.hasInterrupted = true
    this.#notify({ type: 'interrupt' })
  }

  #end(turn: OpenTurn, isTurn: boolean): void {
    this.#reset()
    this.#notify({
      type: 'end',
      startMs: this.#toMs(turn.start),
      endMs: this.#toMs(this.#position),
      speechEndMs: this.#toMs(turn.speechEnd),
      isTurn
    })
  }

  #reset(): void {
    this.#turn = undefined
    this.#recent.take()
    this.#onset = 0
    this.#isSpeech = false
  }

  #toMs(samples: number): number {
    return Math.round(samples / this.#perMs)
  }
}

// The last frames before a turn.
class RecentFrames {
  length = 0
  #frames: Int16Array[] = []

  // Keeps at least so many samples, if they are there.
  push(frame: Int16Array, keep: number): void {
    this.#frames.push(frame)
    this.length += frame.length
    for (let [first] = this.#frames; first && this.length - first.length >= keep; [first] = this.#frames) {
      this.#frames.shift()
      this.length -= first.length
    }
  }

  take(): Int16Array[] {
    const frames = this.#frames
    this.#frames = []
    this.length = 0
    return frames
  }
}

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
