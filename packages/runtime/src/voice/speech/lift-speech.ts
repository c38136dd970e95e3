import type {
  Experimental_SpeechModelV4StreamPart as StreamPart,
  Experimental_StreamingSpeechModelV4 as StreamingSpeechModel,
  SpeechModelV2,
  SpeechModelV3,
  SpeechModelV4
} from '@ai-sdk/provider'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '../../errors.ts'
import { ChildGuard } from '../../guards/child-guard.ts'
import type { Guard } from '../../guards/guard.ts'
import type { OpenResampler } from '../audio/resample.ts'
import { VOICE_ERR_SPEECH_TIMEOUT, VOICE_ERR_SPEECH_UNREADABLE } from '../errors.ts'
import { awaitRetry, isUnsupported, toTokenUsage, waitWithin, type ModelReport } from './model-calls.ts'
import { convertRate, readSpeech, SpeechReader } from './read-speech.ts'

/** A speech model of the AI SDK; one with `doStream` sends audio before a sentence is complete. */
export type SpeechModel = SpeechModelV4 | SpeechModelV3 | SpeechModelV2

/** What all texts of a call have in common. */
export interface SpeechOptions extends ModelReport {
  /** Hz of the audio. */
  readonly rate: number
  readonly openResampler: OpenResampler
  /** BCP 47. */
  readonly language: string | undefined
  /** Milliseconds until the next audio. */
  readonly timeout: number
}

/**
 * Speaks a text. The samples belong to the caller; transient failures before the first of them are retried.
 * @throws RUN_ERR_MODEL_…, VOICE_ERR_SPEECH_TIMEOUT, VOICE_ERR_SPEECH_UNREADABLE, the reason of the signal
 */
export type Speak = (
  text: string,
  voice: string | undefined,
  signal: AbortSignal
) => AsyncGenerator<Int16Array, void>

type Reader = ReadableStreamDefaultReader<StreamPart>

/** Seconds of audio that a text may have, beside one for each of its characters. */
const MAX_EXTRA = 30

/** Models of any version with a method that only some of them have. */
type AnySpeechModel = SpeechModelV4 & Partial<Pick<StreamingSpeechModel, 'doStream'>>

/** Providers that know no WAV, and what they return instead. */
const RAW_FORMATS: Readonly<Record<string, { outputFormat: string; rate: number }>> = {
  elevenlabs: { outputFormat: 'pcm_24000', rate: 24_000 }
}

/** Converts a speech model of any version to one function. */
export function liftSpeech(model: SpeechModel, options: SpeechOptions): Speak {
  const lifted = new LiftedSpeech(model as AnySpeechModel, options)
  return (...call) => lifted.speak(...call)
}

class LiftedSpeech {
  readonly #model: AnySpeechModel
  readonly #options: SpeechOptions
  #streams: boolean

  constructor(model: AnySpeechModel, options: SpeechOptions) {
    this.#model = model
    this.#options = options
    this.#streams = typeof model.doStream === 'function'
  }

  async *speak(
    text: string,
    voice: string | undefined,
    signal: AbortSignal
  ): AsyncGenerator<Int16Array, void> {
    for (let attempt = 1; ; attempt++) {
      const guard = new ChildGuard(signal)
      const streams = this.#streams
      let begun = false
      let length = 0
      try {
        for await (const samples of streams
          ? this.#stream(text, voice, guard)
          : this.#whole(text, voice, guard)) {
          begun = true
          length += samples.length
          this.#requireLength(length, text)
          yield samples
        }
        return
      } catch (err) {
        if (streams && isUnsupported(err)) this.#streams = false
        else
          await awaitRetry(err, {
            attempt: begun ? Infinity : attempt,
            signal,
            onFault: this.#options.onFault
          })
      } finally {
        guard.close()
      }
    }
  }

  async *#whole(text: string, voice: string | undefined, guard: Guard): AsyncGenerator<Int16Array, void> {
    const { rate, openResampler } = this.#options
    const raw = RAW_FORMATS[this.#model.provider.split('.')[0] ?? '']
    const outputFormat = raw?.outputFormat ?? 'wav'
    const making = this.#model.doGenerate({ text, outputFormat, ...this.#settings(voice, guard) })
    const { audio, usage } = await this.#wait(guard, making)
    this.#report(usage)
    yield convertRate(await readSpeech(audio, raw?.rate), openResampler, rate)
  }

  async *#stream(text: string, voice: string | undefined, guard: Guard): AsyncGenerator<Int16Array, void> {
    const { rate, openResampler } = this.#options
    const opening = (this.#model as StreamingSpeechModel).doStream({
      text: ReadableStream.from([{ type: 'text' as const, text }]),
      outputFormat: { type: 'audio/pcm', rate },
      ...this.#settings(voice, guard)
    })
    const reader = (await this.#wait(guard, opening)).stream.getReader()
    const speech = new SpeechReader(openResampler, rate)
    try {
      yield* this.#read(reader, speech, guard)
    } finally {
      speech.close()
      reader.cancel().catch(ignore)
    }
  }

  async *#read(reader: Reader, speech: SpeechReader, guard: Guard): AsyncGenerator<Int16Array, void> {
    let failure: unknown = new RUN_ERR_MODEL_STREAM_BROKEN()
    let lastAt = performance.now()
    for (;;) {
      const { done, value: part } = await this.#wait(guard, reader.read(), lastAt)
      // A stream without `finish` broke off.
      if (done) throw failure
      if (part.type === 'error') failure = part.error
      if (part.type === 'audio' && part.audio.length > 0) {
        yield speech.read(part)
        lastAt = performance.now()
      }
      if (part.type === 'finish') {
        this.#report(part.usage)
        yield speech.end()
        return
      }
    }
  }

  // A stream that sends anything but audio is as late as one that sends nothing.
  #wait<T>(guard: Guard, promise: PromiseLike<T>, since = performance.now()): Promise<T> {
    const { timeout } = this.#options
    const left = Math.max(since + timeout - performance.now(), 1)
    return waitWithin(guard, left, new VOICE_ERR_SPEECH_TIMEOUT(timeout), promise)
  }

  // A model that never ends would fill the memory.
  #requireLength(samples: number, { length }: string): void {
    const seconds = MAX_EXTRA + length
    if (samples > seconds * this.#options.rate)
      throw new VOICE_ERR_SPEECH_UNREADABLE(`more than ${seconds} seconds for a text of ${length} characters`)
  }

  #settings(voice: string | undefined, { signal: abortSignal }: Guard) {
    const { language } = this.#options
    return { abortSignal, ...(voice !== undefined && { voice }), ...(language !== undefined && { language }) }
  }

  #report(usage: object | undefined): void {
    const tokens = toTokenUsage(usage)
    if (tokens !== undefined) this.#options.onUsage(tokens)
  }
}

function ignore(): void {}
