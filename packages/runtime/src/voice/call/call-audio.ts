import type { AudioFormat, VoiceSettings } from '@svc/registry'
import { requireAudioFormat } from '@svc/registry/kit'
import { decodeAudio, encodeAudio } from '../audio/codec.ts'
import { loadResampler, type OpenResampler, type Resampler } from '../audio/resample.ts'
import type { VoiceEngine } from '../engines/engine.ts'

/** Converts the audio of one call, in both directions, between the formats of the client and the rates of the engine. */
export class CallAudio {
  readonly #open: OpenResampler
  readonly #engine: VoiceEngine
  #input: AudioFormat
  #output: AudioFormat
  #toEngine: Resampler | undefined
  #toClient: Resampler | undefined

  static async open(engine: VoiceEngine, settings: VoiceSettings): Promise<CallAudio> {
    return new CallAudio(await loadResampler(), engine, settings)
  }

  private constructor(open: OpenResampler, engine: VoiceEngine, settings: VoiceSettings) {
    this.#open = open
    this.#engine = engine
    this.#input = requireAudioFormat(settings.input)
    this.#output = requireAudioFormat(settings.output)
    this.#connect()
  }

  /** The format that the client receives. */
  get format(): AudioFormat {
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

  /** Takes the formats of new settings, if they change. */
  configure({ input, output }: VoiceSettings): void {
    const earlier = [this.#input, this.#output]
    this.#input = requireAudioFormat(input)
    this.#output = requireAudioFormat(output)
    if (this.#input.rate === earlier[0]!.rate && this.#output.rate === earlier[1]!.rate) return
    this.close()
    this.#connect()
  }

  close(): void {
    this.#toEngine?.close()
    this.#toClient?.close()
  }

  #connect(): void {
    const { inputRate, outputRate } = this.#engine
    this.#toEngine = this.#between(this.#input.rate, inputRate)
    this.#toClient = this.#between(outputRate, this.#output.rate)
  }

  #between(from: number, to: number): Resampler | undefined {
    return from === to ? undefined : this.#open(from, to)
  }
}
