import type {
  Experimental_TranscriptionModelV4StreamPart as StreamPart,
  TranscriptionModelV2,
  TranscriptionModelV3,
  TranscriptionModelV4
} from '@ai-sdk/provider'
import { errors } from '@svc/runtime'
import { ChildGuard, nameOfProvider, toModelFault, type Guard } from '@svc/runtime/loop'
import { encodeAudio, joinSamples } from '../audio/codec.ts'
import type { OpenResampler, Resampler } from '../audio/resample.ts'
import { writeWav } from '../audio/wav.ts'
import { VOICE_ERR_TRANSCRIPTION_TIMEOUT } from '../errors.ts'
import {
  awaitRetry,
  isUnsupported,
  readStream,
  reportUsage,
  toTranscript,
  waitWithin,
  type ModelReport,
  type OpenTranscription,
  type Transcript,
  type TranscriptionHost,
  type TurnTranscription
} from './model-calls.ts'

type StreamedModel = TranscriptionModelV4 & Required<Pick<TranscriptionModelV4, 'doStream'>>
type ProviderOptions = Parameters<StreamedModel['doStream']>[0]['providerOptions']

/** What a streamed transcription needs. */
export interface LiveOptions {
  readonly model: StreamedModel
  /** Hz of the samples. */
  readonly rate: number
  readonly openResampler: OpenResampler
  readonly providerOptions: ProviderOptions
  readonly guard: Guard
  readonly onUsage: ModelReport['onUsage']
  /** Takes the words so far, each time they change. */
  onWords(text: string): void
}

const PCM = { type: 'audio/pcm' } as const
/** Hz that a provider's stream takes; most take 16,000 Hz. */
const RATES: Readonly<Record<string, number>> = { openai: 24_000 }
const DEFAULT_RATE = 16_000

/** Transcribes audio while it comes. */
class LiveTranscription {
  /** Rejects with the error of the model. */
  readonly transcript: Promise<Transcript>
  readonly #options: LiveOptions
  readonly #resampler: Resampler
  #audio: ReadableStreamDefaultController<Uint8Array> | undefined
  // What the stream reported as final, and what it may still revise.
  #final: string[] = []
  #current = ''

  constructor(options: LiveOptions) {
    const { model, rate, openResampler } = options
    this.#options = options
    const streamRate = RATES[nameOfProvider(model.provider)] ?? DEFAULT_RATE
    this.#resampler = openResampler(rate, streamRate)
    const audio = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#audio = controller
      },
      cancel: () => {
        this.#audio = undefined
      }
    })
    this.transcript = this.#run(audio, streamRate).finally(() => this.#close())
    // The caller may ask for it later, or never.
    this.transcript.catch(ignore)
  }

  push(samples: Int16Array): void {
    this.#audio?.enqueue(encodeAudio(this.#resampler.push(samples), PCM))
  }

  /** The audio is complete. */
  end(): void {
    this.#audio?.enqueue(encodeAudio(this.#resampler.flush(), PCM))
    this.#close()
  }

  #close(): void {
    const audio = this.#audio
    this.#audio = undefined
    try {
      audio?.close()
    } catch {
      // The model's abort has already closed it.
    }
    this.#resampler.close()
  }

  async #run(audio: ReadableStream<Uint8Array>, rate: number): Promise<Transcript> {
    const { model, guard, providerOptions } = this.#options
    const opening = model.doStream({
      audio,
      inputAudioFormat: { ...PCM, rate },
      abortSignal: guard.signal,
      ...(providerOptions && { providerOptions })
    })
    const { stream } = await guard.wait(opening)
    for await (const part of readStream(stream, (reading) => guard.wait(reading))) {
      if (part.type === 'finish') return this.#finish(part)
      this.#take(part)
    }
    throw new errors.RUN_ERR_MODEL_STREAM_BROKEN()
  }

  #take(part: StreamPart): void {
    if (part.type === 'transcript-delta') this.#current += part.delta
    else if (part.type === 'transcript-partial') this.#current = part.text
    else if (part.type === 'transcript-final') {
      this.#final.push(part.text)
      this.#current = ''
    } else return
    this.#options.onWords(this.#text)
  }

  #finish({ text, language, usage }: Extract<StreamPart, { type: 'finish' }>): Transcript {
    reportUsage(this.#options, usage)
    return toTranscript(text.trim() || this.#text, language)
  }

  get #text(): string {
    const all = [...this.#final, this.#current].map((each) => each.trim())
    return all.filter((each) => each !== '').join(' ')
  }
}

function ignore(): void {}

/** A transcription model of the AI SDK; one with `doStream` transcribes while the user speaks. */
export type TranscriptionModel = TranscriptionModelV4 | TranscriptionModelV3 | TranscriptionModelV2

/** What all turns of a call have in common. */
export interface TranscriptionOptions extends ModelReport {
  /** Hz of the samples. */
  readonly rate: number
  readonly openResampler: OpenResampler
  /** BCP 47. */
  readonly language: string | undefined
  /** Milliseconds until a transcript is complete, from the end of its audio. */
  readonly timeout: number
}

/** How providers name the language, which the specification of transcription models lacks. */
const LANGUAGE_OPTIONS: Readonly<Record<string, string>> = {
  openai: 'language',
  groq: 'language',
  deepgram: 'language',
  xai: 'language',
  mistral: 'language',
  elevenlabs: 'languageCode',
  assemblyai: 'languageCode'
}

/** Converts a transcription model of any version to one function. A stream that fails is replaced by one request. */
export function liftTranscription(
  model: TranscriptionModel,
  options: TranscriptionOptions
): OpenTranscription {
  const lifted = new LiftedTranscription(model as TranscriptionModelV4, options)
  return (host) => new Turn(lifted, host)
}

class LiftedTranscription {
  readonly #model: TranscriptionModelV4
  readonly #options: TranscriptionOptions
  readonly #providerOptions: LiveOptions['providerOptions']
  #streams: boolean

  constructor(model: TranscriptionModelV4, options: TranscriptionOptions) {
    this.#model = model
    this.#options = options
    this.#providerOptions = providerOptionsOf(model, options.language)
    this.#streams = typeof model.doStream === 'function'
  }

  /** Undefined if the model does not stream. */
  begin(guard: ChildGuard, onWords: (text: string) => void): LiveTranscription | undefined {
    if (!this.#streams) return undefined
    const model = this.#model as LiveOptions['model']
    return new LiveTranscription({
      ...this.#options,
      model,
      guard,
      onWords,
      providerOptions: this.#providerOptions
    })
  }

  /** @param samples of the whole turn, should the stream have failed */
  async finish(
    live: LiveTranscription | undefined,
    samples: readonly Int16Array[],
    guard: ChildGuard
  ): Promise<Transcript> {
    if (samples.length === 0) return { text: '' }
    try {
      live?.end()
      if (live !== undefined) return await this.#wait(guard, live.transcript)
    } catch (err) {
      guard.check()
      if (isUnsupported(err)) this.#streams = false
      else this.#options.onFault(toModelFault(err))
    }
    const { rate } = this.#options
    return this.transcribe(writeWav({ samples: joinSamples(samples), rate }), 'audio/wav', guard)
  }

  async transcribe(audio: Uint8Array, mediaType: string, guard: ChildGuard): Promise<Transcript> {
    const { signal: abortSignal } = guard
    const providerOptions = this.#providerOptions
    for (let attempt = 1; ; attempt++) {
      try {
        const making = this.#model.doGenerate({
          audio,
          mediaType,
          abortSignal,
          ...(providerOptions && { providerOptions })
        })
        const { text, language, usage } = await this.#wait(guard, making)
        reportUsage(this.#options, usage)
        return toTranscript(text, language)
      } catch (err) {
        await awaitRetry(err, { attempt, signal: abortSignal, onFault: this.#options.onFault })
      }
    }
  }

  #wait<T>(guard: ChildGuard, promise: PromiseLike<T>): Promise<T> {
    const { timeout } = this.#options
    return waitWithin(guard, timeout, new VOICE_ERR_TRANSCRIPTION_TIMEOUT(timeout), promise)
  }
}

class Turn implements TurnTranscription {
  readonly #model: LiftedTranscription
  readonly #host: TranscriptionHost
  readonly #end = new AbortController()
  readonly #guard = new ChildGuard(this.#end.signal)
  readonly #samples: Int16Array[] = []
  #live: LiveTranscription | undefined

  constructor(model: LiftedTranscription, host: TranscriptionHost) {
    this.#model = model
    this.#host = host
  }

  push(samples: Int16Array): void {
    if (this.#samples.length === 0) this.#live = this.#model.begin(this.#guard, (text) => this.#take(text))
    this.#samples.push(samples)
    this.#live?.push(samples)
  }

  end(): void {
    void this.#report(this.#model.finish(this.#live, this.#samples, this.#guard))
  }

  read(audio: Uint8Array, mimeType: string): void {
    void this.#report(this.#model.transcribe(audio, mimeType, this.#guard))
  }

  stop(): void {
    this.#end.abort()
    this.#guard.close()
  }

  #take(text: string): void {
    if (!this.#end.signal.aborted) this.#host.words(text, false)
  }

  async #report(transcribing: Promise<Transcript>): Promise<void> {
    try {
      const { text, language } = await transcribing
      if (!this.#end.signal.aborted) this.#host.words(text, true, language)
    } catch (err) {
      if (!this.#end.signal.aborted) this.#host.fail(err)
    } finally {
      this.#guard.close()
    }
  }
}

function providerOptionsOf({ provider }: TranscriptionModelV4, language: string | undefined) {
  const name = nameOfProvider(provider)
  const option = LANGUAGE_OPTIONS[name]
  if (language === undefined || option === undefined) return undefined
  return { [name]: { [option]: new Intl.Locale(language).language } }
}
