import { defined } from '@svc/contract'
import type {
  SpeechModelV2,
  SpeechModelV3,
  SpeechModelV4,
  Experimental_StreamingSpeechModelV4 as StreamingSpeechModel,
  Experimental_SpeechModelV4StreamPart as StreamPart
} from '@ai-sdk/provider'
import { ChildGuard, nameOfProvider, type Guard } from '@svc/runtime/loop'
import { fileTypeFromBuffer } from 'file-type'
import { decodeAudio, joinSamples } from '../audio/codec.ts'
import type { OpenResampler, Resampler } from '../audio/resample.ts'
import { isWav, readWav, type Pcm } from '../audio/wav.ts'
import { VOICE_ERR_BAD_AUDIO, VOICE_ERR_SPEECH_TIMEOUT, VOICE_ERR_SPEECH_UNREADABLE } from '../errors.ts'
import {
  awaitRetry,
  isUnsupported,
  readStream,
  reportUsage,
  waitWithin,
  type ModelReport
} from './model-calls.ts'

type AudioPart = Extract<StreamPart, { type: 'audio' }>

const RAW_TYPES = new Set(['audio/pcm', 'audio/l16', 'audio/raw', 'audio/pcmu', 'audio/pcma'])
const MIN_RATE = 4_000
const MAX_RATE = 192_000

/**
 * The audio of a speech model, which was asked for WAV; with `rate`, for PCM.
 * @throws VOICE_ERR_SPEECH_UNREADABLE
 */
async function readSpeech(audio: Uint8Array | string, rate: number | undefined): Promise<Pcm> {
  const bytes = toBytes(audio)
  if (bytes.length === 0) throw new VOICE_ERR_SPEECH_UNREADABLE('it is empty')
  if (isWav(bytes)) return readFile(bytes)
  if (rate !== undefined) return { samples: decodeAudio(bytes, { type: 'audio/pcm' }), rate }
  const { mime } = (await fileTypeFromBuffer(bytes)) ?? { mime: 'an unknown format' }
  throw new VOICE_ERR_SPEECH_UNREADABLE(`${mime} instead of WAV`)
}

function readFile(bytes: Uint8Array): Pcm {
  try {
    return readWav(bytes)
  } catch (err) {
    if (err instanceof VOICE_ERR_BAD_AUDIO) throw new VOICE_ERR_SPEECH_UNREADABLE(err.message)
    throw err
  }
}

/** Reads the chunks of streamed speech, of one format from the first to the last, at the rate of the call. */
class SpeechReader {
  readonly #open: OpenResampler
  readonly #rate: number
  #format: { readonly type: string; readonly rate: number } | undefined
  #resampler: Resampler | undefined
  // Half a sample at the end of the last chunk.
  #half = new Uint8Array(0)

  /** @param rate Hz of the samples that it returns */
  constructor(open: OpenResampler, rate: number) {
    this.#open = open
    this.#rate = rate
  }

  /** @throws VOICE_ERR_SPEECH_UNREADABLE */
  read({ audio, audioFormat }: AudioPart): Int16Array {
    const { type, rate } = (this.#format ??= requireRaw(audioFormat))
    if (audioFormat.type.toLowerCase() !== type || (audioFormat.rate ?? rate) !== rate)
      throw new VOICE_ERR_SPEECH_UNREADABLE('its format changes')
    this.#resampler ??= this.#open(rate, this.#rate)
    return this.#resampler.push(this.#decode(toBytes(audio), type))
  }

  /** The rest. */
  end(): Int16Array {
    return this.#resampler?.flush() ?? new Int16Array(0)
  }

  close(): void {
    this.#resampler?.close()
  }

  #decode(chunk: Uint8Array, type: string): Int16Array {
    if (type === 'audio/pcmu' || type === 'audio/pcma') return decodeAudio(chunk, { type })
    const bytes = this.#half.length === 0 ? chunk : Buffer.concat([this.#half, chunk])
    this.#half = bytes.slice(bytes.length & ~1)
    return decodeAudio(bytes, { type: 'audio/pcm' })
  }
}

/** Converts a whole recording to another rate. @param rate Hz */
export function convertRate({ samples, rate: from }: Pcm, open: OpenResampler, rate: number): Int16Array {
  const resampler = open(from, rate)
  try {
    return joinSamples([resampler.push(samples), resampler.flush()])
  } finally {
    resampler.close()
  }
}

function requireRaw({ type: name, rate }: AudioPart['audioFormat']) {
  const type = name.toLowerCase()
  if (!RAW_TYPES.has(type)) throw new VOICE_ERR_SPEECH_UNREADABLE('its stream is not PCM')
  const hertz = rate ?? (type.startsWith('audio/pcm') && type !== 'audio/pcm' ? 8_000 : 24_000)
  if (!Number.isInteger(hertz) || hertz < MIN_RATE || hertz > MAX_RATE)
    throw new VOICE_ERR_SPEECH_UNREADABLE('its rate is out of range')
  return { type, rate: hertz }
}

function toBytes(audio: Uint8Array | string): Uint8Array {
  return typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio
}

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
    return { abortSignal, ...defined({ voice, language }) }
  }
}
