import { readFile } from 'node:fs/promises'
import type { Awaitable } from '@svc/contract'
import { errors } from '@svc/runtime'
import type * as Ort from 'onnxruntime-web'
import { FrameCutter } from '../audio/codec.ts'
import { VOICE_ERR_BAD_DETECTOR } from '../errors.ts'
import { fvad, type VoiceDetection, type VoiceDetector } from './fvad.ts'

/** Frames without a finding after which the gate closes; more than half a second. */
const HOLD = 20
/** Frames before a finding that the second detector gets, since it judges a frame by those before it. */
const WARM_UP = 4

/** A detector that is only asked where a cheap one of the same rate finds something: silence costs what the cheap one does. */
export function gate(cheap: VoiceDetector, detector: VoiceDetector): VoiceDetector {
  return {
    rate: detector.rate,
    frame: detector.frame,
    create: async () => new Gated(cheap.frame, await cheap.create(), await detector.create())
  }
}

class Gated implements VoiceDetection {
  readonly #cheap: VoiceDetection
  readonly #detection: VoiceDetection
  readonly #frames: FrameCutter
  #findings: Awaitable<number>[] = []
  // While the gate is closed.
  #recent: Int16Array[] = []
  #held = 0

  /** @param frame samples that the cheap detector takes */
  constructor(frame: number, cheap: VoiceDetection, detection: VoiceDetection) {
    this.#cheap = cheap
    this.#detection = detection
    this.#frames = new FrameCutter(frame, (each) => this.#findings.push(cheap.probability(each)))
  }

  probability(frame: Int16Array): Awaitable<number> {
    this.#findings = []
    this.#frames.push(frame)
    const findings = this.#findings
    if (findings.every((each) => typeof each === 'number')) return this.#judge(frame, findings)
    return this.#settle(frame, findings)
  }

  async #settle(frame: Int16Array, findings: readonly Awaitable<number>[]): Promise<number> {
    const settled: number[] = []
    for (const each of findings) settled.push(await each)
    return this.#judge(frame, settled)
  }

  close(): void {
    this.#cheap.close()
    this.#detection.close()
  }

  #judge(frame: Int16Array, findings: readonly number[]): Awaitable<number> {
    if (findings.some((each) => each >= 0.5)) this.#held = HOLD
    else if (this.#held > 0) this.#held--
    if (this.#held === 0) {
      this.#recent.push(frame.slice())
      if (this.#recent.length > WARM_UP) this.#recent.shift()
      return 0
    }
    return this.#recent.length === 0 ? this.#detection.probability(frame) : this.#open(frame)
  }

  async #open(frame: Int16Array): Promise<number> {
    for (const each of this.#recent.splice(0)) await this.#detection.probability(each)
    return this.#detection.probability(frame)
  }
}

/** Options of `sileroVad`. */
export interface SileroVadOptions {
  /** The file `silero_vad.onnx` of Silero VAD, version 5 or 6: its path, or its bytes. */
  readonly model: string | URL | Uint8Array
  /** False: every frame is judged by the model, not only where `fvad` finds something. */
  readonly gated?: boolean
}

type Results = Readonly<Record<'output' | 'stateN', Ort.Tensor>>

/** A loaded model, which all calls share. */
interface Silero {
  readonly ort: typeof Ort
  readonly session: Ort.InferenceSession
}

const RATE = 16_000
const FRAME = 512
/** Samples before a frame that the model gets with it. */
const CONTEXT = 64
const STATE = [2, 1, 128]
const INPUTS = ['input', 'state', 'sr']
const OUTPUTS = ['output', 'stateN']

const loaded = new Map<SileroVadOptions['model'], Promise<Silero>>()

/**
 * Silero VAD: finds speech in any noise, for 10 ms of CPU per second of sound that may be speech. Needs the npm package
 * `onnxruntime-web` and the model's file, which its project publishes under the MIT license. A model is loaded once per process.
 * @throws VOICE_ERR_BAD_DETECTOR
 */
export function sileroVad({ model, gated = true }: SileroVadOptions): VoiceDetector {
  if (typeof model !== 'string' && !(model instanceof URL) && !(model instanceof Uint8Array))
    throw new VOICE_ERR_BAD_DETECTOR('sileroVad needs `model`, the path of the file silero_vad.onnx')
  const detector: VoiceDetector = {
    rate: RATE,
    frame: FRAME,
    create: async () => new SileroDetection(await loadSilero(model))
  }
  // The mode that misses the least.
  return gated ? gate(fvad({ mode: 0 }), detector) : detector
}

class SileroDetection implements VoiceDetection {
  readonly #silero: Silero
  readonly #rate: Ort.Tensor
  // The end of the frame before, and the frame.
  readonly #samples = new Float32Array(CONTEXT + FRAME)
  #state: Ort.Tensor

  constructor(silero: Silero) {
    const { Tensor } = silero.ort
    this.#silero = silero
    this.#rate = new Tensor('int64', BigInt64Array.of(BigInt(RATE)), [])
    this.#state = new Tensor('float32', new Float32Array(256), STATE)
  }

  async probability(frame: Int16Array): Promise<number> {
    const { ort, session } = this.#silero
    const samples = this.#samples
    samples.copyWithin(0, FRAME)
    for (let at = 0; at < FRAME; at++) samples[CONTEXT + at] = (frame[at] ?? 0) / 32_768
    const input = new ort.Tensor('float32', samples, [1, samples.length])
    const results = (await session.run({ input, state: this.#state, sr: this.#rate })) as Results
    this.#state = results.stateN
    return Number(results.output.data[0])
  }

  // The model stays for other calls.
  close(): void {}
}

function loadSilero(model: SileroVadOptions['model']): Promise<Silero> {
  const key = model instanceof URL ? model.href : model
  const before = loaded.get(key)
  if (before !== undefined) return before
  const loading = load(model)
  loaded.set(key, loading)
  // A failure may be repaired: the next call tries again.
  loading.catch(() => loaded.delete(key))
  return loading
}

async function load(model: SileroVadOptions['model']): Promise<Silero> {
  const ort = await loadOrt()
  const bytes = typeof model === 'string' || model instanceof URL ? await readModel(model) : model
  const session = await openSession(ort, bytes)
  const { inputNames, outputNames } = session
  if (
    INPUTS.every((name) => inputNames.includes(name)) &&
    OUTPUTS.every((name) => outputNames.includes(name))
  )
    return { ort, session }
  await session.release()
  throw new VOICE_ERR_BAD_DETECTOR('the model of sileroVad is not that of Silero VAD 5 or 6')
}

// An optional peer.
async function loadOrt(): Promise<typeof Ort> {
  try {
    const ort = await import('onnxruntime-web/wasm')
    // With more, the runtime installs handlers of the process.
    ort.env.wasm.numThreads = 1
    ort.env.logLevel = 'error'
    return ort
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw err
    throw new errors.RUN_ERR_NOT_INSTALLED('onnxruntime-web')
  }
}

async function readModel(path: string | URL): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (err) {
    throw new VOICE_ERR_BAD_DETECTOR(`the model of sileroVad cannot be read: ${(err as Error).message}`)
  }
}

async function openSession(ort: typeof Ort, bytes: Uint8Array): Promise<Ort.InferenceSession> {
  try {
    return await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  } catch {
    throw new VOICE_ERR_BAD_DETECTOR('the model of sileroVad is no ONNX file')
  }
}
