import {
  requireAudioFormat,
  type AudioFormat,
  type RunContext,
  type VoiceSettings,
  type YieldedPart
} from '@svc/contract'
import { keepFile } from '@svc/registry/engine'
import { decodeAudio, encodeAudio, joinSamples } from '../audio/codec.ts'
import { loadResampler, type OpenResampler, type Resampler } from '../audio/resample.ts'
import { writeWav } from '../audio/wav.ts'
import type { VoiceEngine } from '../engines/engine.ts'

/** Converts the audio of one call, in both directions, between the formats of the client and the rates of the engine. */
export class CallAudio {
  readonly #open: OpenResampler
  readonly #engine: VoiceEngine
  #input: AudioFormat
  #output: AudioFormat
  /** That of the next answer. */
  #wanted: AudioFormat
  #toEngine: Resampler | undefined
  #toClient: Resampler | undefined

  static async open(engine: VoiceEngine, settings: VoiceSettings): Promise<CallAudio> {
    return new CallAudio(await loadResampler(), engine, settings)
  }

  private constructor(open: OpenResampler, engine: VoiceEngine, settings: VoiceSettings) {
    this.#open = open
    this.#engine = engine
    this.#input = requireAudioFormat(settings.input)
    this.#output = this.#wanted = requireAudioFormat(settings.output)
    this.#toEngine = this.#between(this.#input.rate, engine.inputRate)
    this.#toClient = this.#between(engine.outputRate, this.#output.rate)
  }

  /** The format that the client receives. */
  get format(): AudioFormat {
    return this.#output
  }

  /** Begins an answer, in the format that the client wants now. */
  begin(): AudioFormat {
    if (this.#output !== this.#wanted) {
      this.#output = this.#wanted
      this.#toClient?.close()
      this.#toClient = this.#between(this.#engine.outputRate, this.#output.rate)
    }
    return this.#output
  }

  /** Samples of the client's audio at the rate of the engine; they may share memory with the bytes. */
  decode(bytes: Uint8Array): Int16Array {
    const samples = decodeAudio(bytes, this.#input)
    return this.#toEngine?.push(samples) ?? samples
  }

  /** The engine's audio in the client's format. */
  encode(samples: Int16Array): Uint8Array {
    return encodeAudio(this.#toClient?.push(samples) ?? samples, this.#output)
  }

  /** The rest of an answer, which the conversion has kept back. */
  flush(): Uint8Array {
    return encodeAudio(this.#toClient?.flush() ?? new Int16Array(0), this.#output)
  }

  /** Takes the formats of new settings. An answer under way keeps its own. @throws VOICE_ERR_BAD_FORMAT */
  configure({ input, output }: VoiceSettings): void {
    const [received, wanted] = [requireAudioFormat(input), requireAudioFormat(output)]
    const { rate } = this.#input
    this.#input = received
    this.#wanted = wanted
    if (received.rate === rate) return
    this.#toEngine?.close()
    this.#toEngine = this.#between(received.rate, this.#engine.inputRate)
  }

  close(): void {
    this.#toEngine?.close()
    this.#toClient?.close()
  }

  #between(from: number, to: number): Resampler | undefined {
    return from === to ? undefined : this.#open(from, to)
  }
}

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
