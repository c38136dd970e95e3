import { parseArgs } from 'node:util'
import { fvad, sileroVad, type VoiceDetector } from '@svc/runtime/voice'
import { findTurns, NOISES, recordSpeech, withNoise } from '../test/helpers/noisy-speech.ts'

// Which of 24 utterances detectors find in nine kinds of noise, and their CPU: `node bench/detection.ts --model silero_vad.onnx`.

const { values } = parseArgs({ options: { model: { type: 'string' } } })
const recording = await recordSpeech()
if (recording === undefined) throw new Error('install espeak-ng')

const detectors: Record<string, VoiceDetector> = { fvad: fvad() }
if (values.model !== undefined) {
  detectors['silero'] = sileroVad({ model: values.model })
  detectors['silero, not gated'] = sileroVad({ model: values.model, gated: false })
}

for (const [name, detector] of Object.entries(detectors)) {
  const rows: Record<string, unknown> = {}
  for (const noise of Object.keys(NOISES))
    rows[noise] = await findTurns(detector, recording, withNoise(recording, noise))
  process.stdout.write(`${name}, ${recording.utterances.length} utterances\n`)
  console.table(rows)
}
