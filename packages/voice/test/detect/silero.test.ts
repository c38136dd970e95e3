import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fvad, sileroVad, type VoiceDetector } from '@svc/voice'
import t from 'tap'
import { gate } from '../../src/detect/silero.ts'
import { toyVad } from '../helpers/toy-vad.ts'

const FRAME = 512
const toy = toyVad()

const frameOf = (level: number) => new Int16Array(FRAME).fill(level * 32_768)

async function probabilities(detector: VoiceDetector, levels: number[]) {
  const detection = await detector.create()
  const found: number[] = []
  for (const level of levels) found.push(await detection.probability(frameOf(level)))
  detection.close()
  return found
}

t.test(
  'a model of the shape of Silero VAD: the state and the end of the frame before are kept',
  async (t) => {
    const found = await probabilities(sileroVad({ model: toy, gated: false }), [0, 0.25, 0.25, 0])
    // The mean of the frame and the 64 samples before it, twice, and half of the state.
    const mean = (before: number, now: number) => (64 * before + 512 * now) / 576
    const expected = [0, 2 * mean(0, 0.25)]
    expected.push((expected[1] ?? 0) / 2 + 2 * mean(0.25, 0.25))
    expected.push((expected[2] ?? 0) / 2 + 2 * mean(0.25, 0))
    found.forEach((each, at) => t.ok(Math.abs(each - (expected[at] ?? NaN)) < 0.001, `frame ${at}: ${each}`))
  }
)

t.test('calls share the model, not the state', async (t) => {
  const detector = sileroVad({ model: toy, gated: false })
  const [loud, quiet] = [await detector.create(), await detector.create()]
  let last = [0, 1]
  for (let at = 0; at < 20; at++)
    last = await Promise.all([
      loud.probability(frameOf(0.4)),
      quiet.probability(frameOf(at === 0 ? 0.001 : 0))
    ])
  t.ok((last[0] ?? 0) > 0.9)
  t.ok((last[1] ?? 1) < 0.01)
})

t.test('the model is read from a path or a URL, when the first call begins', async (t) => {
  const file = join(t.testdir(), 'silero_vad.onnx')
  const detectors = [sileroVad({ model: file }), sileroVad({ model: pathToFileURL(file) })]
  for (const detector of detectors)
    await t.rejects(async () => detector.create(), {
      code: 'VOICE_ERR_BAD_DETECTOR',
      message: /the model of sileroVad cannot be read: ENOENT/
    })
  await writeFile(file, toy)
  for (const detector of detectors) t.strictSame(await probabilities(detector, [0]), [0])
})

t.test('bad options and bad models', async (t) => {
  const code = 'VOICE_ERR_BAD_DETECTOR'
  t.throws(() => sileroVad({} as never), { code, message: /needs `model`/ })
  t.throws(() => fvad({ mode: 4 as never }), { code, message: /0 to 3, not 4/ })
  const create = async (model: Uint8Array) => sileroVad({ model }).create()
  await t.rejects(create(Buffer.from('nonsense')), { code, message: /is no ONNX file/ })
  await t.rejects(create(toyVad({ state: 'memory' })), { code, message: /not that of Silero VAD/ })
})

t.test('no handler of the process stays behind', async (t) => {
  await probabilities(sileroVad({ model: toy }), [0.5])
  t.equal(process.listenerCount('uncaughtException'), 0)
  t.equal(process.listenerCount('unhandledRejection'), 0)
})

/** A detector that records its frames, by their first samples. */
function recording(rate = 16_000, frame = FRAME) {
  const asked: number[] = []
  let closed = 0
  const detector: VoiceDetector = {
    rate,
    frame,
    create: () => ({
      probability([level = 0]) {
        asked.push(level)
        return level > 5 ? 1 : 0
      },
      close: () => void closed++
    })
  }
  return { detector, asked, closed: () => closed }
}

/** Frames of samples of these values. */
async function judge(detector: VoiceDetector, levels: number[]) {
  const detection = await detector.create()
  const found: number[] = []
  for (const level of levels) found.push(await detection.probability(new Int16Array(FRAME).fill(level)))
  detection.close()
  return found
}

t.test('a gate: the second detector gets the frames around a finding only', async (t) => {
  const [cheap, good] = [recording(16_000, 320), recording()]
  const silence = (frames: number) => Array.from({ length: frames }, () => 1)
  const found = await judge(gate(cheap.detector, good.detector), [2, ...silence(9), 3, 9, 9, ...silence(30)])
  t.strictSame(good.asked, [1, 1, 1, 3, 9, 9, ...silence(20)])
  t.strictSame(found, [...Array.from({ length: 11 }, () => 0), 1, 1, ...Array.from({ length: 30 }, () => 0)])
  t.equal(cheap.asked.length, Math.floor((43 * FRAME) / 320))
  t.strictSame([cheap.closed(), good.closed()], [1, 1])
})

t.test('a gate with an asynchronous detector finds the same', async (t) => {
  const levels = [1, 9, 1, ...Array.from({ length: 30 }, () => 1), 9, 1, 9]
  const [cheap, good] = [recording(16_000, 320), recording()]
  const later: VoiceDetector = {
    ...cheap.detector,
    create: async () => {
      const detection = await cheap.detector.create()
      return { ...detection, probability: async (frame) => detection.probability(frame) }
    }
  }
  const expected = await judge(gate(recording(16_000, 320).detector, recording().detector), levels)
  t.strictSame(await judge(gate(later, good.detector), levels), expected)
})

t.test('silence never reaches the model behind the gate', async (t) => {
  const good = recording()
  const gated = gate(fvad({ mode: 0 }), good.detector)
  t.strictSame(
    await judge(
      gated,
      Array.from({ length: 50 }, () => 0)
    ),
    Array.from({ length: 50 }, () => 0)
  )
  t.strictSame(good.asked, [])
})
