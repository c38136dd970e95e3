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
export function addChord({ byte, number }: Chord, rate: number, samples: Int16Array): void {
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
export function readChord(samples: Int16Array, rate: number): Chord | undefined {
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
