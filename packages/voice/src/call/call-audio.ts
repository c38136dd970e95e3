import { requireAudioFormat, type AudioFormat, type VoiceSettings } from '@svc/contract'
import { decodeAudio, encodeAudio } from '../audio/codec.ts'
import { loadResampler, type OpenResampler, type Resampler } from '../audio/resample.ts'
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
