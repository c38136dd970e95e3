import { VOICE_ERR_BAD_AUDIO } from '../errors.ts'
import { decodeCode } from './codec.ts'

/** Audio with one channel. */
export interface Pcm {
  readonly samples: Int16Array
  /** Hz. */
  readonly rate: number
}

interface Format {
  readonly code: number
  readonly channels: number
  readonly rate: number
  readonly bits: number
}

type ReadSample = (view: DataView, at: number) => number

const HEADER_BYTES = 44
const MIN_RATE = 4_000
const MAX_RATE = 192_000
const MAX_CHANNELS = 32
const EXTENSIBLE = 0xfffe

/** By format code and bits: 1 is PCM, 3 floats, 6 A-law, 7 mu-law. */
const READERS: Record<string, ReadSample> = {
  '1/8': (view, at) => (view.getUint8(at) - 128) << 8,
  '1/16': (view, at) => view.getInt16(at, true),
  '1/24': (view, at) => view.getInt16(at + 1, true),
  '1/32': (view, at) => view.getInt16(at + 2, true),
  '3/32': (view, at) => toInt16(view.getFloat32(at, true)),
  '3/64': (view, at) => toInt16(view.getFloat64(at, true)),
  '6/8': (view, at) => decodeCode(view.getUint8(at), 'a'),
  '7/8': (view, at) => decodeCode(view.getUint8(at), 'mu')
}

/** True if the bytes begin as a WAV file does. */
export function isWav(bytes: Uint8Array): boolean {
  const view = viewOf(bytes)
  return bytes.length >= 12 && tagAt(view, 0) === 'RIFF' && tagAt(view, 8) === 'WAVE'
}

/**
 * Reads a WAV file: PCM of 8 to 32 bits, floats, mu-law and A-law; channels are mixed to one. The sizes in the header may be those
 * of an unfinished stream: then the audio ends with the bytes.
 * @throws VOICE_ERR_BAD_AUDIO
 */
export function readWav(bytes: Uint8Array): Pcm {
  if (!isWav(bytes)) throw new VOICE_ERR_BAD_AUDIO('no WAV file')
  const view = viewOf(bytes)
  let format: Format | undefined
  for (let at = 12; at + 8 <= bytes.length;) {
    const tag = tagAt(view, at)
    const start = at + 8
    const size = view.getUint32(at + 4, true)
    if (tag === 'fmt ') format = readFormat(view, start, Math.min(size, bytes.length - start))
    if (tag === 'data') {
      if (format === undefined) throw new VOICE_ERR_BAD_AUDIO('the WAV file has no format before its data')
      return {
        samples: readSamples(view, start, Math.min(start + size, bytes.length), format),
        rate: format.rate
      }
    }
    at = start + size + (size % 2)
  }
  throw new VOICE_ERR_BAD_AUDIO('the WAV file has no data')
}

/** Makes a WAV file of 16-bit samples. @param rate Hz */
export function writeWav({ samples, rate }: Pcm): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + samples.length * 2)
  const view = viewOf(bytes)
  const put = (at: number, tag: string) => bytes.set(Buffer.from(tag, 'latin1'), at)
  put(0, 'RIFF')
  view.setUint32(4, bytes.length - 8, true)
  put(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  put(36, 'data')
  view.setUint32(40, samples.length * 2, true)
  samples.forEach((sample, at) => view.setInt16(HEADER_BYTES + at * 2, sample, true))
  return bytes
}

function readFormat(view: DataView, start: number, size: number): Format {
  if (size < 16) throw new VOICE_ERR_BAD_AUDIO('the format of the WAV file is too short')
  const code = view.getUint16(start, true)
  return checkFormat({
    // The real code is the beginning of the sub-format's GUID.
    code: code === EXTENSIBLE && size >= 26 ? view.getUint16(start + 24, true) : code,
    channels: view.getUint16(start + 2, true),
    rate: view.getUint32(start + 4, true),
    bits: view.getUint16(start + 14, true)
  })
}

function checkFormat(format: Format): Format {
  const { code, channels, rate, bits } = format
  if (READERS[`${code}/${bits}`] === undefined) {
    throw new VOICE_ERR_BAD_AUDIO(`a WAV file of format ${code} with ${bits} bits cannot be read`)
  }
  if (channels < 1 || channels > MAX_CHANNELS)
    throw new VOICE_ERR_BAD_AUDIO(`a WAV file of ${channels} channels`)
  if (rate < MIN_RATE || rate > MAX_RATE) throw new VOICE_ERR_BAD_AUDIO(`a WAV file at ${rate} Hz`)
  return format
}

function readSamples(
  view: DataView,
  start: number,
  end: number,
  { code, channels, bits }: Format
): Int16Array {
  const read = READERS[`${code}/${bits}`] as ReadSample
  const width = bits / 8
  const samples = new Int16Array(Math.floor((end - start) / (width * channels)))
  let at = start
  for (let index = 0; index < samples.length; index++) {
    let sum = 0
    for (let channel = 0; channel < channels; channel++, at += width) sum += read(view, at)
    samples[index] = sum / channels
  }
  return samples
}

function toInt16(value: number): number {
  return Math.max(-32_768, Math.min(32_767, Math.round(value * 32_768)))
}

function tagAt(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)))
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
