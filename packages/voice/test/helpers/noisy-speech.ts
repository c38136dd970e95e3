import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { joinSamples } from '../../src/audio/codec.ts'
import { loadResampler } from '../../src/audio/resample.ts'
import { readWav } from '../../src/audio/wav.ts'
import type { VoiceDetector } from '../../src/detect/fvad.ts'
import { TurnFinder } from '../../src/detect/turn-finder.ts'
import { createRandom } from './random.ts'

const RATE = 16_000
const PHRASES = [
  'what is the weather in rome',
  'yes',
  'please book a table for two',
  'no',
  'stop',
  'how late is it',
  'I would like to cancel my order',
  'tell me more',
  'thank you very much',
  'hello',
  'one moment',
  'goodbye'
]
const VOICES = ['en-us', 'en-us+f3']

/** Speech with pauses, and where its utterances are, in milliseconds. */
export interface Recording {
  readonly samples: Int16Array
  readonly utterances: readonly { readonly startMs: number; readonly endMs: number }[]
  /** Of the utterances: the root of the mean square. */
  readonly loudness: number
}

/** How a detector finds the turns of a recording. */
export interface Findings {
  /** Utterances whose audio is in no turn. */
  readonly missed: number
  /** Turns that have no audio of an utterance. */
  readonly wrong: number
  /** Utterances that share a turn with the one before them. */
  readonly merged: number
  /** Milliseconds of CPU per second of audio. */
  readonly cpuMs: number
}

/** 24 utterances of espeak-ng, or undefined where it is not installed. */
export async function recordSpeech(): Promise<Recording | undefined> {
  try {
    const spoken = await Promise.all(VOICES.flatMap((voice) => PHRASES.map((phrase) => speak(phrase, voice))))
    const pieces = [silence(1_500)]
    let at = 1_500
    const utterances = spoken.map((samples, index) => {
      // A turn ends after 500 ms.
      const pause = 1_200 + 150 * (index % 5)
      const startMs = at
      const endMs = at + (samples.length / RATE) * 1000
      at = endMs + pause
      pieces.push(samples, silence(pause))
      return { startMs, endMs }
    })
    return { samples: joinSamples(pieces), utterances, loudness: loudnessOf(joinSamples(spoken)) }
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw err
  }
}

/** Adds silence to a recording until only a share of it is speech, from 0 to 1. */
export function withShare({ samples, utterances }: Recording, share: number): Int16Array {
  const spokenMs = utterances.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0)
  const whole = new Int16Array(Math.max(samples.length, ((spokenMs / share) * RATE) / 1000))
  whole.set(samples)
  return whole
}

/** By name: what is added to speech of a loudness. */
export const NOISES: Readonly<Record<string, (length: number, loudness: number) => Float64Array>> = {
  clean: (length) => new Float64Array(length),
  'white 30 dB': (length, loudness) => white(length, loudness / 10 ** 1.5),
  'white 20 dB': (length, loudness) => white(length, loudness / 10),
  'white 10 dB': (length, loudness) => white(length, loudness / 10 ** 0.5),
  'white 5 dB': (length, loudness) => white(length, loudness / 10 ** 0.25),
  'white 0 dB': (length, loudness) => white(length, loudness),
  'brown 10 dB': (length, loudness) => brown(length, loudness / 10 ** 0.5),
  'brown 0 dB': (length, loudness) => brown(length, loudness),
  clicks: (length) => clicks(length)
}

/** Adds noise; the same one each time. */
export function withNoise({ samples, loudness }: Recording, name: string): Int16Array {
  const noise = NOISES[name]?.(samples.length, loudness) ?? new Float64Array(samples.length)
  return samples.map((sample, at) => Math.max(-32_768, Math.min(32_767, sample + (noise[at] ?? 0))))
}

/** Has a detector find the turns of a recording. */
export async function findTurns(
  detector: VoiceDetector,
  { utterances }: Recording,
  samples: Int16Array
): Promise<Findings> {
  const turns: { startMs: number; endMs: number }[] = []
  const over = Promise.withResolvers<void>()
  const totalMs = (samples.length / RATE) * 1000 + 2_000
  const settings = {
    detect: true,
    threshold: 0.5,
    silence: 500,
    maxSilence: 3_000,
    prefix: 0,
    interruptAfter: 200
  }
  const finder = await TurnFinder.open(detector, {
    settings,
    transcript: () => '',
    notify(event) {
      if (event.type !== 'end') return
      // The last one is that of the commit.
      if (event.endMs >= totalMs) over.resolve()
      else if (event.isTurn) turns.push({ startMs: event.startMs, endMs: event.speechEndMs })
    },
    onError: over.reject
  })
  const before = process.cpuUsage()
  for (let at = 0; at < samples.length; at += 320) finder.append(samples.subarray(at, at + 320))
  finder.append(silence(2_000))
  finder.commit()
  await over.promise
  const { user, system } = process.cpuUsage(before)
  finder.close()
  const spokenIn = (turn: { startMs: number; endMs: number }) =>
    utterances.filter(({ startMs, endMs }) => turn.startMs < endMs && turn.endMs > startMs)
  const found = turns.map((turn) => spokenIn(turn).length)
  return {
    missed: utterances.filter((each) => !turns.some((turn) => spokenIn(turn).includes(each))).length,
    wrong: found.filter((count) => count === 0).length,
    merged: found.reduce((sum, count) => sum + Math.max(0, count - 1), 0),
    cpuMs: (user + system) / 1000 / (samples.length / RATE)
  }
}

async function speak(text: string, voice: string): Promise<Int16Array> {
  const { stdout } = await promisify(execFile)('espeak-ng', ['-v', voice, '-s', '140', '--stdout', text], {
    encoding: 'buffer',
    maxBuffer: 2 ** 24
  })
  const { samples, rate } = readWav(stdout)
  const resampler = (await loadResampler())(rate, RATE)
  const resampled = joinSamples([resampler.push(samples), resampler.flush()])
  resampler.close()
  const start = resampled.findIndex((sample) => Math.abs(sample) > 200)
  return resampled.subarray(start, resampled.findLastIndex((sample) => Math.abs(sample) > 200) + 1)
}

function silence(ms: number): Int16Array {
  return new Int16Array((ms * RATE) / 1000)
}

// Tests hear the same noise each time.
function noiseOf(seed: number): () => number {
  const next = createRandom(seed)
  return () => next() * 2 - 1
}

function white(length: number, loudness: number): Float64Array {
  const next = noiseOf(7)
  // The mean square of a uniform distribution is a third.
  return Float64Array.from({ length }, () => next() * loudness * Math.sqrt(3))
}

function brown(length: number, loudness: number): Float64Array {
  const next = noiseOf(11)
  let level = 0
  const walk = Float64Array.from({ length }, () => (level = 0.998 * level + next()))
  const own = loudnessOf(walk)
  return walk.map((each) => (each / own) * loudness)
}

function clicks(length: number): Float64Array {
  const noise = new Float64Array(length)
  const next = noiseOf(13)
  for (let at = 2_000; at < length; at += Math.round(RATE * (0.3 + 0.2 * Math.abs(next())))) {
    for (let offset = 0; offset < 80 && at + offset < length; offset++)
      noise[at + offset] = 12_000 * next() * Math.exp(-offset / 20)
  }
  return noise
}

function loudnessOf(samples: Int16Array | Float64Array): number {
  let sum = 0
  for (const sample of samples) sum += sample * sample
  return Math.sqrt(sum / samples.length)
}
