import type { VoiceEngineEvent } from '../engine.ts'
import { openTurn, RecentTurns, type OpenTurn, type SpokenTurn } from './conversation.ts'
import type { SpeechEvent } from './events.ts'

/** Decodes the audio of a model's items: 16-bit samples in base64, whose pieces may split a sample. */
export class AudioDecoder {
  #itemId: string | undefined
  #rest: Buffer = Buffer.alloc(0)

  decode(itemId: string, base64: string): Int16Array {
    const piece = Buffer.from(base64, 'base64')
    const bytes =
      this.#itemId === itemId && this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    const samples = new Int16Array(bytes.length >> 1)
    for (let at = 0; at < samples.length; at++) samples[at] = bytes.readInt16LE(at * 2)
    this.#itemId = itemId
    this.#rest = bytes.subarray(samples.length * 2)
    return samples
  }
}

/** Audio of the microphone in base64, until it belongs to a turn. */
class KeptAudio {
  #frames: { readonly frame: string; readonly samples: number }[] = []
  #samples = 0

  /** The number of its samples. */
  get samples(): number {
    return this.#samples
  }

  get frames(): string[] {
    return this.#frames.map(({ frame }) => frame)
  }

  /** Adds audio, and drops the oldest that exceeds `bound` samples; returns the audio in base64. */
  add(audio: Int16Array, bound: number): string {
    const frame = toBase64(audio)
    this.#frames.push({ frame, samples: audio.length })
    this.#samples += audio.length
    let dropped = 0
    while (this.#samples > bound && dropped < this.#frames.length - 1) {
      this.#samples -= this.#frames[dropped++]!.samples
    }
    if (dropped > 0) this.#frames.splice(0, dropped)
    return frame
  }

  clear(): void {
    this.#frames = []
    this.#samples = 0
  }
}

/** Samples in base64, in frames of one second. @param rate Hz */
function toFrames(samples: Int16Array, rate: number): string[] {
  const count = Math.ceil(samples.length / rate)
  return Array.from({ length: count }, (_, at) => toBase64(samples.subarray(at * rate, (at + 1) * rate)))
}

function toBase64({ buffer, byteOffset, byteLength }: Int16Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

interface Speech {
  readonly turn: OpenTurn
  /** False once the user stopped. */
  isActive: boolean
  isReported: boolean
}

/** What the speech of the user needs to know of its call. */
export interface SpeechOptions {
  /** Hz. */
  readonly rate: number
  /** Milliseconds of speech that interrupt an answer. */
  readonly interruptAfter: number
  /** Milliseconds of silence that end a turn. */
  readonly silence: () => number
  /** False if only `commit` ends a turn. */
  readonly detects: () => boolean
  readonly notify: (event: VoiceEngineEvent) => void
  /** A turn takes its place in the conversation. */
  readonly onTurn: (turn: SpokenTurn) => void
}

// Seconds of audio that a new connection gets: of a turn under way, and before the user spoke.
const MAX_KEPT = 60
const PREROLL = 2

/** The microphone of a call: finds its turns by the model's events, and keeps what a new connection must get again. */
export class UserSpeech {
  readonly #options: SpeechOptions
  // Samples received in all, and those before the current connection.
  #received = 0
  #base = 0
  readonly #kept = new KeptAudio()
  #speech: Speech | undefined
  // By the ids of the model.
  readonly #turns = new RecentTurns()
  readonly #ended = new RecentTurns()
  // Turns that the client ended, until the model names them.
  #unnamed: OpenTurn[] = []
  #last: OpenTurn | undefined
  // Words of a provider that reports no turns.
  #overheard: { readonly itemId: string; readonly text: string } | undefined

  constructor(options: SpeechOptions) {
    this.#options = options
  }

  /** True while the user speaks. */
  get isActive(): boolean {
    return this.#speech?.isActive === true
  }

  /** True from the beginning of speech until its turn is over. */
  get isOpen(): boolean {
    return this.#speech !== undefined
  }

  /** A turn that is over, by its own id; of the last ones only. */
  turn(itemId: string): SpokenTurn | undefined {
    return this.#ended.get(itemId)
  }

  /** Takes audio of the microphone; returns it in base64. */
  append(audio: Int16Array): string {
    this.#received += audio.length
    const seconds = this.isActive || !this.#options.detects() ? MAX_KEPT : PREROLL
    const frame = this.#kept.add(audio, seconds * this.#options.rate)
    this.#reportInterruption()
    return frame
  }

  /** The client ended the turn under way. */
  commit(itemId: string): void {
    const turn = this.#speech?.turn ?? openTurn(itemId, this.#receivedMs - this.#toMs(this.#kept.samples))
    this.#unnamed.push(turn)
    this.#commit(turn, this.#receivedMs, 0)
  }

  /** Adds a turn that was written, or recorded: then it returns the audio in base64. */
  write(itemId: string, samples?: Int16Array): readonly string[] {
    const at = this.#receivedMs
    const turn = openTurn(itemId, at)
    turn.isCommitted = true
    if (samples !== undefined) {
      turn.audio = toFrames(samples, this.#options.rate)
      this.#ended.set(itemId, turn)
      this.#unnamed.push(turn)
      this.#options.onTurn(turn)
    }
    this.#options.notify({ type: 'turn', itemId, startMs: at, endMs: at, endpointMs: 0 })
    return turn.audio
  }

  /** Discards the audio that belongs to no turn yet. */
  clear(): void {
    this.#stop(this.#receivedMs)
    this.#speech = undefined
    this.#kept.clear()
  }

  /** The model noticed that the user speaks. */
  started({ itemId, raw }: SpeechEvent): void {
    if (itemId !== undefined && this.#turns.has(itemId)) return
    if (this.#speech !== undefined) {
      if (itemId !== undefined) this.#turns.set(itemId, this.#speech.turn)
      return
    }
    const atMs = this.#toCallMs(raw['audio_start_ms'])
    const turn = openTurn(undefined, atMs)
    if (itemId !== undefined) this.#turns.set(itemId, turn)
    this.#speech = { turn, isActive: true, isReported: false }
    this.#options.notify({ type: 'speech.start', itemId: turn.itemId, atMs })
    this.#reportInterruption()
  }

  /** The provider has stopped its answer because the user speaks. */
  interrupted(): void {
    if (this.#speech !== undefined) this.#report(this.#speech)
  }

  stopped({ itemId, raw }: SpeechEvent): void {
    const { turn } = this.#speech ?? {}
    if (turn === undefined || (itemId !== undefined && this.#turns.get(itemId) !== turn)) return
    this.#stop(this.#toCallMs(raw['audio_end_ms']))
  }

  /** The model took a turn into its conversation. */
  committed({ itemId, raw }: SpeechEvent): void {
    if (itemId === undefined || this.#turns.get(itemId)?.isCommitted) return
    const named = this.#turns.get(itemId)
    const turn = named ?? this.#unnamed.shift() ?? this.#speech?.turn ?? openTurn(undefined, this.#receivedMs)
    this.#turns.set(itemId, turn)
    const after = raw['previous_item_id'] ?? 'root'
    if (typeof after === 'string') turn.after = after
    this.#unnamed = this.#unnamed.filter((each) => each !== turn)
    if (!turn.isCommitted) this.#commit(turn, this.#receivedMs, this.#options.silence())
  }

  /** The provider refused to end a turn, because it has no audio. */
  refuseCommit(error: unknown): void {
    const turn = this.#unnamed.shift()
    if (turn !== undefined) this.#fail(turn, error)
  }

  /** The words of a turn so far; `final`: all of them. */
  transcribe(itemId: string, text: string, final: boolean): void {
    const turn = this.#turns.get(itemId)
    if (turn === undefined || turn.text !== undefined) return
    this.#options.notify({ type: 'transcript', itemId: turn.itemId, text, final })
    if (final) this.#complete(turn, text)
  }

  /** A turn will have no transcript. */
  fail(itemId: string, error: unknown): void {
    const turn = this.#turns.get(itemId)
    if (turn !== undefined && turn.text === undefined) this.#fail(turn, error)
  }

  /** A provider that reports no turns has words of the user: those of the turn under way, or of the last one. */
  overhear(itemId: string, text: string, final: boolean): void {
    if (!this.#turns.has(itemId)) {
      const last = this.#last?.text === undefined ? this.#last : undefined
      if (this.#speech === undefined && last === undefined) this.started({ raw: {} })
      const turn = this.#speech?.turn ?? last
      if (turn !== undefined) this.#turns.set(itemId, turn)
    }
    this.#overheard = { itemId, text }
    this.transcribe(itemId, text, final)
  }

  /** A provider that reports no turns began to answer: the turn under way is over, if it has words or not. */
  answered(): void {
    this.#commit(this.#speech?.turn ?? openTurn(undefined, this.#receivedMs), this.#receivedMs, 0)
  }

  /** A provider that reports no turns has answered: it has no further words of the turn. */
  settled(): void {
    const { itemId, text } = this.#overheard ?? {}
    this.#overheard = undefined
    if (itemId !== undefined) this.transcribe(itemId, text!, true)
  }

  /** A new connection knows no turns. It gets the audio of these again, in this order, and then that which belongs to no turn yet. */
  restore(turns: readonly SpokenTurn[]): readonly string[] {
    this.#unnamed = turns as readonly OpenTurn[] as OpenTurn[]
    this.#turns.clear()
    this.#base = this.#received - this.#kept.samples
    return this.#kept.frames
  }

  /** The call ends: turns without a transcript will have none. */
  close(): void {
    for (const turn of this.#ended.values()) turn.resolve(undefined)
  }

  get #receivedMs(): number {
    return this.#toMs(this.#received)
  }

  #commit(turn: OpenTurn, endMs: number, endpointMs: number): void {
    this.#stop(endMs)
    this.#speech = undefined
    turn.isCommitted = true
    this.#last = turn
    this.#ended.set(turn.itemId, turn)
    if (turn.text === undefined) turn.audio = this.#kept.frames
    this.#kept.clear()
    this.#options.onTurn(turn)
    const { itemId, startMs } = turn
    this.#options.notify({ type: 'turn', itemId, startMs, endMs, endpointMs })
  }

  #complete(turn: OpenTurn, text: string | undefined): void {
    turn.text = text
    turn.audio = []
    turn.resolve(text)
  }

  #fail(turn: OpenTurn, error: unknown): void {
    this.#options.notify({ type: 'transcript.failed', itemId: turn.itemId, error })
    turn.resolve(undefined)
  }

  #stop(atMs: number): void {
    if (this.#speech?.isActive !== true) return
    this.#speech.isActive = false
    this.#options.notify({ type: 'speech.stop', itemId: this.#speech.turn.itemId, atMs })
  }

  #reportInterruption(): void {
    const speech = this.#speech
    if (speech === undefined || !speech.isActive) return
    if (this.#receivedMs - speech.turn.startMs >= this.#options.interruptAfter) this.#report(speech)
  }

  #report(speech: Speech): void {
    if (speech.isReported) return
    speech.isReported = true
    this.#options.notify({ type: 'speech.interrupt', itemId: speech.turn.itemId })
  }

  // The model counts the milliseconds of its connection.
  #toCallMs(ms: unknown): number {
    if (typeof ms !== 'number' || !(ms >= 0)) return this.#receivedMs
    return Math.min(this.#receivedMs, Math.round(this.#toMs(this.#base) + ms))
  }

  #toMs(samples: number): number {
    return Math.round((samples * 1_000) / this.#options.rate)
  }
}
