import { parseArgs } from 'node:util'
import { fvad, sileroVad, type VoiceDetector } from '@svc/voice'
import { findTurns, NOISES, recordSpeech, withNoise, withShare } from '../test/helpers/noisy-speech.ts'

// Which of 24 utterances detectors find in nine kinds of noise, and their CPU: `node bench/detection.ts --silero silero_vad.onnx`.

const SPEECH = 0.3
const { values } = parseArgs({ options: { silero: { type: 'string' } } })
const model = values.silero
const detectors: Record<string, VoiceDetector> = {
  fvad: fvad(),
  ...(model !== undefined && {
    'silero, gated': sileroVad({ model }),
    'silero, not gated': sileroVad({ model, gated: false })
  })
}
const row = (what: string, cells: readonly string[], target = '') =>
  console.log(`${what.padEnd(48)}${cells.map((cell) => cell.padEnd(20)).join('')}${target}`.trimEnd())

const recording = await recordSpeech()
if (recording === undefined) console.log('detection is not measured: espeak-ng is not installed')
else {
  const count = recording.utterances.length
  row(`found / false / merged, of ${count} utterances`, Object.keys(detectors))
  for (const noise of Object.keys(NOISES)) {
    const cells: string[] = []
    for (const detector of Object.values(detectors)) {
      const { missed, wrong, merged } = await findTurns(detector, recording, withNoise(recording, noise))
      cells.push(`${count - missed} / ${wrong} / ${merged}`)
    }
    row(`  ${noise}`, cells, model && `target ${count} / 0 / 0 of silero`)
  }
  const quiet = withShare(recording, SPEECH)
  const costs: string[] = []
  for (const detector of Object.values(detectors))
    costs.push((await findTurns(detector, recording, quiet)).cpuMs.toFixed(2))
  row(`CPU per second at ${SPEECH * 100} % speech, ms`, costs, model && 'target ≤ 5 of silero, gated')
}
if (model === undefined) console.log('silero: no model file given (--silero FILE)')
