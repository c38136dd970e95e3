import { espeak } from '../../src/voice/offline/espeak.ts'
import { installed } from './speech-programs.ts'

/** Audio with one channel. */
export interface Sound {
  readonly samples: Int16Array<ArrayBuffer>
  /** Hz. */
  readonly rate: number
}

const HEADER = 44

/** Has a text spoken. */
export async function speak(text: string): Promise<Sound> {
  const { audio } = await espeak(installed!.espeak).doGenerate({ text })
  const bytes = Uint8Array.from(audio)
  return {
    samples: new Int16Array(bytes.buffer, HEADER),
    rate: new DataView(bytes.buffer).getUint32(24, true)
  }
}

/** A quiet room: in digital silence, the noise suppression of browsers takes the first words for noise. */
export function roomOf(ms: number, rate: number): Sound {
  let state = 1
  const noise = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state / 2 ** 32 - 0.5) * 30
  }
  return { samples: Int16Array.from({ length: Math.round((ms * rate) / 1_000) }, noise), rate }
}

/** Joins sounds of one rate as a WAV file. */
export function toWav(sounds: readonly Sound[]): Buffer {
  const { rate } = sounds[0]!
  const data = Buffer.concat(
    sounds.map(({ samples }) => new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength))
  )
  const header = Buffer.alloc(HEADER)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(data.length + HEADER - 8, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}
