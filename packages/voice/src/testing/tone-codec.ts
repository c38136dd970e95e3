import type { VoiceDetector } from '../detect/fvad.ts'

/** A sound of three tones: the halves of a byte, and its number in the utterance. */
export interface Chord {
  readonly byte: number
  /** 0 to 7. */
  readonly number: number
}

const AMPLITUDE = 0.25 * 32_767
const RAMP_SECONDS = 0.002
/** The share of the energy that the three tones have at least; noise has far less. */
const PURE = 0.6

// Within the band of a telephone, 75 Hz apart: 16 tones for each half of a byte, 8 for the number.
const GROUPS = [range(0, 16), range(16, 16), range(32, 8)]

const tables = new Map<number, Float32Array[]>()

/** Adds a chord to silent samples, as many as a chord has. @param rate Hz */
function addChord({ byte, number }: Chord, rate: number, samples: Int16Array): void {
  const tones = tables.get(rate) ?? makeTones(rate, samples.length)
  tables.set(rate, tones)
  for (const tone of [byte >> 4, 16 + (byte & 15), 32 + number]) {
    const wave = tones[tone] ?? []
    for (let at = 0; at < samples.length; at++) samples[at] = (samples[at] ?? 0) + (wave[at] ?? 0)
  }
}

function makeTones(rate: number, length: number): Float32Array[] {
  const ramp = RAMP_SECONDS * rate
  return range(0, 40).map((tone) =>
    Float32Array.from({ length }, (_, at) => {
      const edge = Math.min(1, (at + 0.5) / ramp, (length - at - 0.5) / ramp)
      return AMPLITUDE * edge * Math.sin(stepOf(tone, rate) * at)
    })
  )
}

/** The chord that the samples are; undefined if they are none. @param rate Hz */
function readChord(samples: Int16Array, rate: number): Chord | undefined {
  let energy = 0
  for (const sample of samples) energy += sample * sample
  let tonal = 0
  const [high = 0, low = 0, number = 0] = GROUPS.map((tones) => {
    let best = 0
    let most = -1
    tones.forEach((tone, index) => {
      const power = powerAt(samples, stepOf(tone, rate))
      if (power > most) [best, most] = [index, power]
    })
    tonal += most
    return best
  })
  // A sine of amplitude a has the energy n·a²/2 and the power (n·a/2)².
  if (tonal * 2 < PURE * energy * samples.length) return undefined
  return { byte: high * 16 + low, number }
}

// Goertzel's algorithm.
function powerAt(samples: Int16Array, step: number): number {
  const factor = 2 * Math.cos(step)
  let [last, beforeLast] = [0, 0]
  for (const sample of samples) {
    const next = sample + factor * last - beforeLast
    beforeLast = last
    last = next
  }
  return last * last + beforeLast * beforeLast - factor * last * beforeLast
}

function stepOf(tone: number, rate: number): number {
  return (2 * Math.PI * (350 + 75 * tone)) / rate
}

function range(start: number, length: number): number[] {
  return Array.from({ length }, (_, index) => start + index)
}

/** Loudness of full scale, between the noise of G.711 and a chord. */
const LOUD = 0.02

/** A detector for tests, at 16,000 Hz in frames of 20 ms: any loud audio is speech, such as that of `toneSpeech`. */
export function toneDetector(): VoiceDetector {
  return {
    rate: 16_000,
    frame: 320,
    create: () => ({
      probability: (frame) => (isLoud(frame) ? 1 : 0),
      close() {}
    })
  }
}

/** True if the samples are louder than silence is over any line. */
function isLoud(samples: Int16Array): boolean {
  let energy = 0
  for (const sample of samples) energy += sample * sample
  return energy > samples.length * (LOUD * 32_768) ** 2
}

const GAP_SECONDS = 0.01
const TONE_SECONDS = 0.02
const HOP_SECONDS = 0.0025
/** A chord of which less was received does not count. */
const RECOGNIZED = 0.6
const REPLACEMENT = [0xef, 0xbf, 0xbd]

/** Encodes the text of one utterance, which may come in pieces, as chords: one per byte of UTF-8, each with its number. */
export class ToneEncoder {
  readonly #rate: number
  readonly #utf8 = new TextEncoder()
  #count = 0

  /** @param rate Hz, at least 8,000 */
  constructor(rate: number) {
    this.#rate = rate
  }

  /** The samples of the next piece of text; a piece must not split a character. */
  encode(text: string): Int16Array {
    const bytes = this.#utf8.encode(text)
    const tone = Math.round(TONE_SECONDS * this.#rate)
    const step = tone + Math.round(GAP_SECONDS * this.#rate)
    const samples = new Int16Array(bytes.length * step)
    bytes.forEach((byte, at) => {
      addChord(
        { byte, number: numberOf(this.#count++) },
        this.#rate,
        samples.subarray(at * step, at * step + tone)
      )
    })
    return samples
  }
}

/** Decodes chords, at any rate from 8,000 Hz. Lost, doubled or unordered ones leave U+FFFD; noise leaves nothing. */
export class ToneDecoder {
  readonly #rate: number
  readonly #hop: Int16Array
  readonly #chord: Int16Array
  readonly #bytes: number[] = []
  #hopped = 0
  // Of the sound under way; only the last `#chord.length` of its samples are kept.
  #sounded = 0
  #next = 0

  /** @param rate Hz, at least 8,000 */
  constructor(rate: number) {
    this.#rate = rate
    this.#hop = new Int16Array(Math.round(HOP_SECONDS * rate))
    this.#chord = new Int16Array(Math.round((TONE_SECONDS / HOP_SECONDS) * this.#hop.length))
  }

  push(samples: Int16Array): void {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.#hop.length - this.#hopped)
      this.#hop.set(part, this.#hopped)
      this.#hopped += part.length
      at += part.length
      if (this.#hopped < this.#hop.length) return
      this.#hopped = 0
      this.#endHop()
    }
  }

  /** The text so far. Utterances are separated by a space. */
  get text(): string {
    const bytes = [...this.#bytes]
    this.#endChord(bytes)
    // As a stream, so that a character that is cut at the end leaves nothing.
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes), { stream: true })
  }

  #endHop(): void {
    if (isLoud(this.#hop)) {
      this.#chord.copyWithin(0, this.#hop.length)
      this.#chord.set(this.#hop, this.#chord.length - this.#hop.length)
      this.#sounded += this.#hop.length
    } else if (this.#sounded > 0) {
      this.#next = this.#endChord(this.#bytes)
      this.#sounded = 0
    }
  }

  // Appends what the sound under way says, and returns the number of the next chord.
  #endChord(bytes: number[]): number {
    if (this.#sounded < this.#chord.length * RECOGNIZED) return this.#next
    const chord = readChord(this.#chord.subarray(-this.#sounded), this.#rate)
    if (chord === undefined) return this.#next
    if (chord.number === 0) {
      if (bytes.length > 0 && bytes.at(-1) !== 0x20) bytes.push(0x20)
    } else if (chord.number !== this.#next) bytes.push(...REPLACEMENT)
    bytes.push(chord.byte)
    return chord.number === 7 ? 1 : chord.number + 1
  }
}

/** The audio of an utterance. @param rate Hz, at least 8,000 */
export function encodeTones(text: string, rate: number): Int16Array {
  return new ToneEncoder(rate).encode(text)
}

/** The text that the audio carries: of a part of the audio, the text up to there. */
export function decodeTones(samples: Int16Array, rate: number): string {
  const decoder = new ToneDecoder(rate)
  decoder.push(samples)
  return decoder.text
}

// Only the first chord of an utterance is number 0.
function numberOf(count: number): Chord['number'] {
  return count === 0 ? 0 : ((count - 1) % 7) + 1
}
