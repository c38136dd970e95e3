import type { VoiceDetector } from '../detect/detector.ts'

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
export function isLoud(samples: Int16Array): boolean {
  let energy = 0
  for (const sample of samples) energy += sample * sample
  return energy > samples.length * (LOUD * 32_768) ** 2
}
