import type {
  Experimental_TranscriptionModelV4StreamPart as StreamPart,
  TranscriptionModelV4
} from '@ai-sdk/provider'
import { RUN_ERR_MODEL_STREAM_BROKEN } from '@svc/runtime'
import { nameOfProvider, type Guard } from '@svc/runtime/loop'
import { encodeAudio } from '../audio/codec.ts'
import type { OpenResampler, Resampler } from '../audio/resample.ts'
import { readStream, reportUsage, type ModelReport } from './model-calls.ts'
import { toTranscript, type Transcript } from './transcription.ts'

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
export class LiveTranscription {
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
    throw new RUN_ERR_MODEL_STREAM_BROKEN()
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
