import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import type { AudioFormat } from './voice.ts'
import { VOICE_ERR_BAD_FORMAT } from '../errors.ts'

/** The schema of an `AudioFormat`: PCM at 8,000 to 48,000 Hz, G.711 at 8,000 Hz. */
export const AudioFormatSchema = Type.Unsafe<AudioFormat>(
  Type.Union(
    [
      Type.Object(
        {
          type: Type.Literal('audio/pcm'),
          rate: Type.Integer({ minimum: 8_000, maximum: 48_000, description: 'Hz' })
        },
        { additionalProperties: false }
      ),
      Type.Object(
        {
          type: Type.Union([Type.Literal('audio/pcmu'), Type.Literal('audio/pcma')]),
          rate: Type.Literal(8_000)
        },
        { additionalProperties: false }
      )
    ],
    { description: '16-bit little-endian PCM, or G.711; one channel' }
  )
)
const check = TypeCompiler.Compile(AudioFormatSchema)

/** PCM at 24,000 Hz. */
export const DEFAULT_AUDIO_FORMAT: AudioFormat = Object.freeze({ type: 'audio/pcm', rate: 24_000 })

/** Checks an audio format; undefined is the default. @throws VOICE_ERR_BAD_FORMAT */
export function requireAudioFormat(format: unknown = DEFAULT_AUDIO_FORMAT): AudioFormat {
  if (check.Check(format)) return format
  const { type, rate } = (format ?? {}) as { type?: unknown; rate?: unknown }
  const asked = typeof type === 'string' ? `${type} at ${String(rate)} Hz` : 'no object with type and rate'
  throw new VOICE_ERR_BAD_FORMAT(
    `${asked.slice(0, 100)}; expected audio/pcm at 8000 to 48000 Hz, audio/pcmu or audio/pcma at 8000 Hz`
  )
}

/** Bytes of one sample. */
export function bytesPerSample({ type }: AudioFormat): number {
  return type === 'audio/pcm' ? 2 : 1
}

/** Milliseconds that so many bytes of audio last. */
export function durationOf(format: AudioFormat, bytes: number): number {
  return (bytes / bytesPerSample(format) / format.rate) * 1_000
}
