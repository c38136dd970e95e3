import {
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  InputQueue,
  type VoiceInput,
  type VoiceLink,
  type VoiceOutput,
  type VoiceSettings
} from '@svc/contract'
import { RUN_ERR_INPUT_NOT_FOUND } from '@svc/contract/errors'
import { decodeAudio, encodeAudio } from '../audio/codec.ts'
import { encodeTones } from './tone-codec.ts'

/** Milliseconds of one frame of the microphone. */
const FRAME = 20

type OutputOf<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/** Options of `voiceLink`. */
export interface VoiceLinkOptions {
  readonly settings?: VoiceSettings
  /** Default true. */
  readonly canClear?: boolean
  /**
   * How answers are played: `at-once` reports all audio as played when it arrives, `reports` leaves it to the test, `real-time` reports
   * nothing. Default `at-once`.
   */
  readonly playback?: 'at-once' | 'reports' | 'real-time'
  /** Takes answers to inputs of the run; default: they are refused. */
  readonly answer?: VoiceLink['answer']
}

interface Waiting {
  readonly matches: (output: VoiceOutput) => boolean
  readonly resolve: (output: VoiceOutput) => void
}

/** A link for tests: a user who speaks in tones, and a client that records what it gets. */
export class TestVoiceLink implements VoiceLink {
  readonly settings: VoiceSettings
  readonly canClear: boolean
  readonly reportsPlayback: boolean
  readonly input = new InputQueue()
  /** All outputs so far. */
  readonly outputs: VoiceOutput[] = []
  readonly #options: VoiceLinkOptions
  #read = 0
  #waiting: Waiting[] = []

  constructor(options: VoiceLinkOptions = {}) {
    const { settings = {}, canClear = true, playback = 'at-once' } = options
    this.#options = options
    this.settings = settings
    this.canClear = canClear
    this.reportsPlayback = playback !== 'real-time'
  }

  send(output: VoiceOutput): void {
    this.outputs.push(output)
    for (const waiting of this.#waiting.filter(({ matches }) => matches(output))) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      this.#read = this.outputs.length
      waiting.resolve(output)
    }
    if (output.type === 'audio' && (this.#options.playback ?? 'at-once') === 'at-once')
      this.played(output.itemId, output.startMs + durationOf(this.#format, output.audio.byteLength))
  }

  answer(...[inputId, answer]: Parameters<VoiceLink['answer']>): Promise<void> {
    return this.#options.answer?.(inputId, answer) ?? Promise.reject(new RUN_ERR_INPUT_NOT_FOUND(inputId))
  }

  /** Sends what the client does. */
  push(input: VoiceInput): void {
    this.input.push(input)
  }

  /** The user says a text, and is then silent for a time in milliseconds; default 800. */
  speak(text: string, silence: number = 800): void {
    this.microphone(encodeTones(text, this.#inputFormat.rate))
    this.silence(silence)
  }

  /** The microphone receives silence. @param ms milliseconds */
  silence(ms: number): void {
    this.microphone(new Int16Array((this.#inputFormat.rate * ms) / 1000))
  }

  /** The microphone receives audio, which is sent in frames. */
  microphone(samples: Int16Array): void {
    const step = (this.#inputFormat.rate * FRAME) / 1000
    for (let at = 0; at < samples.length; at += step)
      this.push({ type: 'audio', audio: encodeAudio(samples.subarray(at, at + step), this.#inputFormat) })
  }

  /** The client has played `ms` milliseconds of an answer. */
  played(itemId: string, ms: number): void {
    this.push({ type: 'played', itemId, ms })
  }

  /** The user hangs up. */
  hangUp(): void {
    this.push({ type: 'end', reason: 'hangup' })
  }

  /** The next output of a type that was not awaited yet. */
  async next<T extends VoiceOutput['type']>(
    type: T,
    matches: (output: OutputOf<T>) => boolean = () => true
  ): Promise<OutputOf<T>> {
    const isWanted = (output: VoiceOutput) => output.type === type && matches(output as OutputOf<T>)
    const index = this.outputs.findIndex((output, at) => at >= this.#read && isWanted(output))
    if (index !== -1) {
      this.#read = index + 1
      return this.outputs[index] as OutputOf<T>
    }
    return new Promise((resolve) => {
      this.#waiting.push({ matches: isWanted, resolve: (output) => resolve(output as OutputOf<T>) })
    })
  }

  /** All outputs of a type so far. */
  all<T extends VoiceOutput['type']>(type: T): OutputOf<T>[] {
    return this.outputs.filter((output): output is OutputOf<T> => output.type === type)
  }

  /** The audio of an answer, each piece at its place; what was sent again counts once. */
  audioOf(itemId: string): Int16Array {
    const { rate } = this.#format
    const pieces = this.all('audio').filter((output) => output.itemId === itemId)
    const placed = pieces.map(({ audio, startMs }) => ({
      at: Math.round((startMs * rate) / 1000),
      samples: decodeAudio(audio, this.#format)
    }))
    const whole = new Int16Array(Math.max(0, ...placed.map(({ at, samples }) => at + samples.length)))
    for (const { at, samples } of placed) whole.set(samples, at)
    return whole
  }

  get #format() {
    return this.settings.output ?? DEFAULT_AUDIO_FORMAT
  }

  get #inputFormat() {
    return this.settings.input ?? DEFAULT_AUDIO_FORMAT
  }
}

/** Creates a link for tests of calls. */
export function voiceLink(options?: VoiceLinkOptions): TestVoiceLink {
  return new TestVoiceLink(options)
}
