import { setTimeout as pause } from 'node:timers/promises'
import type {
  RunEngine,
  VoiceInput,
  VoiceLink,
  VoiceOutput,
  VoiceRunnable,
  VoiceSettings
} from '@svc/registry'
import { startCall, type StartedCall } from './start-call.ts'

/** Hz of what is sent, unless a caller has another rate, and received. */
export const RATE = 16_000
/** Milliseconds of a frame. */
const FRAME = 20

type Kind = VoiceOutput['type']
type Output<K extends Kind> = Extract<VoiceOutput, { type: K }>

/** A client of a call, in the process of the call: there is no wire in between. */
export class Caller implements VoiceLink {
  readonly settings: VoiceSettings
  readonly canClear = true
  readonly reportsPlayback: boolean
  /** Every output but audio, and when it came. */
  readonly outputs: { readonly output: VoiceOutput; readonly at: number }[] = []
  /** Samples of answers that were received. */
  received = 0
  readonly #waiting: VoiceInput[] = []
  #wake: (() => void) | undefined
  #watchers: { readonly type: Kind; resolve(output: VoiceOutput, at: number): void }[] = []
  #call: StartedCall | undefined

  readonly #inputRate: number

  /**
   * @param playsAtOnce whether answers count as played as soon as they arrive; else they take their time
   * @param inputRate Hz of what is sent
   */
  constructor(playsAtOnce: boolean, inputRate = RATE) {
    this.reportsPlayback = playsAtOnce
    this.#inputRate = inputRate
    this.settings = {
      input: { type: 'audio/pcm', rate: inputRate },
      output: { type: 'audio/pcm', rate: RATE }
    }
  }

  /** Calls a voice agent. */
  async call(engine: RunEngine, voice: VoiceRunnable): Promise<void> {
    this.#call = await startCall(voice, this, engine)
  }

  get input(): AsyncIterable<VoiceInput> {
    return this.#take()
  }

  send(output: VoiceOutput): void {
    const at = performance.now()
    if (output.type === 'audio') {
      this.received += output.audio.byteLength / 2
      if (this.reportsPlayback)
        this.push({
          type: 'played',
          itemId: output.itemId,
          ms: output.startMs + (output.audio.byteLength / 2 / RATE) * 1_000
        })
    } else this.outputs.push({ output, at })
    const found = this.#watchers.filter(({ type }) => type === output.type)
    if (found.length === 0) return
    this.#watchers = this.#watchers.filter(({ type }) => type !== output.type)
    for (const { resolve } of found) resolve(output, at)
  }

  async answer(inputId: string): Promise<void> {
    throw new Error(`${inputId} was not expected`)
  }

  push(input: VoiceInput): void {
    this.#waiting.push(input)
    this.#wake?.()
  }

  /** The next output of a type, and when it came. */
  next<K extends Kind>(type: K): Promise<{ output: Output<K>; at: number }> {
    return new Promise((resolve) =>
      this.#watchers.push({ type, resolve: (output, at) => resolve({ output: output as Output<K>, at }) })
    )
  }

  /** The last output of a type so far. @throws an Error if there is none */
  last<K extends Exclude<Kind, 'audio'>>(type: K): Output<K> {
    const found = this.outputs.findLast(({ output }) => output.type === type)
    if (found === undefined) throw new Error(`there was no ${type}`)
    return found.output as Output<K>
  }

  /** Sends audio in frames, at the pace of a microphone or as fast as it is taken. Returns when the last frame was sent. */
  async speak(samples: Int16Array, pace: 'live' | 'fast'): Promise<number> {
    const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
    const size = 2 * Math.round((this.#inputRate * FRAME) / 1_000)
    let due = performance.now()
    let sentAt = due
    for (let at = 0; at < bytes.byteLength; at += size) {
      this.push({ type: 'audio', audio: bytes.subarray(at, at + size) })
      sentAt = performance.now()
      due += FRAME
      await pause(pace === 'live' ? Math.max(0, due - performance.now()) : 0)
    }
    return sentAt
  }

  /** Hangs up, and waits for the run. */
  async hangUp(): Promise<void> {
    this.push({ type: 'end', reason: 'hangup' })
    await this.#call?.end()
  }

  async *#take(): AsyncGenerator<VoiceInput> {
    for (;;) {
      const next = this.#waiting.shift()
      if (next !== undefined) {
        yield next
        if (next.type === 'end') return
      } else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
