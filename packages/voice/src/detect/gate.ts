import type { Awaitable } from '@svc/contract'
import { FrameCutter } from '../audio/frames.ts'
import type { VoiceDetection, VoiceDetector } from './detector.ts'

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
