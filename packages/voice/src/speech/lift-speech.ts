import type {
  Experimental_StreamingSpeechModelV4 as StreamingSpeechModel,
  SpeechModelV2,
  SpeechModelV3,
  SpeechModelV4
} from '@ai-sdk/provider'
import { ChildGuard, nameOfProvider, type Guard } from '@svc/runtime/loop'
import type { OpenResampler } from '../audio/resample.ts'
import { VOICE_ERR_SPEECH_TIMEOUT, VOICE_ERR_SPEECH_UNREADABLE } from '../errors.ts'
import {
  awaitRetry,
  isUnsupported,
  readStream,
  reportUsage,
  waitWithin,
  type ModelReport
} from './model-calls.ts'
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
    const raw = RAW_FORMATS[nameOfProvider(this.#model.provider)]
    const outputFormat = raw?.outputFormat ?? 'wav'
    const making = this.#model.doGenerate({ text, outputFormat, ...this.#settings(voice, guard) })
    const { audio, usage } = await this.#wait(guard, making)
    reportUsage(this.#options, usage)
    yield convertRate(await readSpeech(audio, raw?.rate), openResampler, rate)
  }

  async *#stream(text: string, voice: string | undefined, guard: Guard): AsyncGenerator<Int16Array, void> {
    const { rate, openResampler } = this.#options
    const opening = (this.#model as StreamingSpeechModel).doStream({
      text: ReadableStream.from([{ type: 'text' as const, text }]),
      outputFormat: { type: 'audio/pcm', rate },
      ...this.#settings(voice, guard)
    })
    const { stream } = await this.#wait(guard, opening)
    const speech = new SpeechReader(openResampler, rate)
    let lastAt = performance.now()
    try {
      for await (const part of readStream(stream, (reading) => this.#wait(guard, reading, lastAt))) {
        if (part.type === 'audio' && part.audio.length > 0) {
          yield speech.read(part)
          lastAt = performance.now()
        }
        if (part.type !== 'finish') continue
        reportUsage(this.#options, part.usage)
        yield speech.end()
      }
    } finally {
      speech.close()
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
}
