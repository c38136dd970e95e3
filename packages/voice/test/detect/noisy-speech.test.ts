import { fvad, type VoiceDetector } from '@svc/voice'
import t from 'tap'
import { gate } from '../../src/detect/silero.ts'
import { findTurns, NOISES, recordSpeech, withNoise } from '../helpers/noisy-speech.ts'

const recording = await recordSpeech()
const skip = recording === undefined && 'install espeak-ng'

t.test(
  'fvad finds 24 of 24 utterances, and nothing else, where there is little noise',
  { skip },
  async (t) => {
    for (const noise of ['clean', 'white 30 dB', 'white 20 dB', 'brown 10 dB']) {
      const findings = await findTurns(fvad(), recording!, withNoise(recording!, noise))
      t.match(findings, { missed: 0, wrong: 0, merged: 0 }, noise)
    }
  }
)

t.test('the gate lets all speech through, in any noise, and no silence', { skip }, async (t) => {
  let asked = 0
  const behind: VoiceDetector = {
    rate: 16_000,
    frame: 512,
    create: () => ({
      probability(frame) {
        asked += frame.length
        return 1
      },
      close() {}
    })
  }
  const gated = gate(fvad({ mode: 0 }), behind)
  for (const noise of Object.keys(NOISES)) {
    const { missed } = await findTurns(gated, recording!, withNoise(recording!, noise))
    t.equal(missed, 0, noise)
  }
  asked = 0
  await findTurns(gated, recording!, recording!.samples)
  const { length } = recording!.samples
  const spoken = recording!.utterances.reduce((sum, { startMs, endMs }) => sum + (endMs - startMs) * 16, 0)
  t.ok(asked > spoken && asked < length * 0.9, `${asked} of ${length} samples, ${spoken} of them speech`)
})
