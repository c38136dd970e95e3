import type { Experimental_SpeechModelV4StreamPart as StreamPart } from '@ai-sdk/provider'
import { fileTypeFromBuffer } from 'file-type'
import { decodeAudio } from '../audio/codec.ts'
import { joinSamples } from '../audio/frames.ts'
import type { OpenResampler, Resampler } from '../audio/resample.ts'
import { isWav, readWav, type Pcm } from '../audio/wav.ts'
import { VOICE_ERR_BAD_AUDIO, VOICE_ERR_SPEECH_UNREADABLE } from '../errors.ts'

type AudioPart = Extract<StreamPart, { type: 'audio' }>

const RAW_TYPES = new Set(['audio/pcm', 'audio/l16', 'audio/raw', 'audio/pcmu', 'audio/pcma'])
const MIN_RATE = 4_000
const MAX_RATE = 192_000

/**
 * The audio of a speech model, which was asked for WAV; with `rate`, for PCM.
 * @throws VOICE_ERR_SPEECH_UNREADABLE
 */
export async function readSpeech(audio: Uint8Array | string, rate: number | undefined): Promise<Pcm> {
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
export class SpeechReader {
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
