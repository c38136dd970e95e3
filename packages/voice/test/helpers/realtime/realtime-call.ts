import {
  createContext,
  GLOBAL_REGISTRY,
  type ContextOptions,
  type SessionKey,
  type VoiceSettings,
  type YieldedPart
} from '@svc/registry'
import { encodeTones } from '../../../src/testing/tone-codec.ts'
import type { PlayedAnswer, VoiceEngine, VoiceEngineEvent } from '../../../src/engines/engine.ts'
import { planRealtime, type RealtimeEngineOptions } from '../../../src/engines/realtime/realtime-plan.ts'
import { realtimeEngine } from '../../../src/engines/realtime/realtime.ts'

type Event<T extends VoiceEngineEvent['type']> = Extract<VoiceEngineEvent, { type: T }>

/** The session of calls with the `sessionId` `s1`. */
export const SESSION: SessionKey = {
  registry: GLOBAL_REGISTRY,
  owner: 'anonymous',
  kind: 'agent',
  name: 'live',
  sessionId: 's1'
}

/** How a call of a test differs from the simplest one. */
export interface RealtimeCallOptions extends Partial<Omit<RealtimeEngineOptions, 'model' | 'times'>> {
  readonly times?: Partial<RealtimeEngineOptions['times']>
  readonly settings?: VoiceSettings
  readonly context?: ContextOptions
  /** How each complete answer is played; default: whole. */
  readonly play?: (call: RealtimeCall) => void
}

/** A call on the realtime engine alone: it answers every turn, and plays every answer at once. */
export class RealtimeCall {
  readonly events: VoiceEngineEvent[] = []
  readonly parts: YieldedPart[] = []
  readonly audio: Int16Array[] = []
  engine!: VoiceEngine
  #waiting: { type: string; left: number; resolve: () => void }[] = []
  #turns: string[] = []
  #isAnswering = false
  #index = 0
  readonly #words = new Map<string, string>()
  readonly #play: (call: RealtimeCall) => void

  private constructor(play: (call: RealtimeCall) => void) {
    this.#play = play
  }

  static async open(
    t: { teardown(fn: () => unknown): void },
    model: RealtimeEngineOptions['model'],
    {
      settings = {},
      context,
      times,
      play = (call) => call.engine.delivered({ ms: 0, text: '' }),
      ...options
    }: RealtimeCallOptions = {}
  ): Promise<RealtimeCall> {
    const call = new RealtimeCall(play)
    const ending = new AbortController()
    const plan = planRealtime({
      name: 'live',
      retry: { baseDelay: 1 },
      turns: { threshold: 0.5, silence: 100, prefix: 0, interruptAfter: 40 },
      ...options,
      times: { connect: 2_000, session: 3_600_000, transcription: 2_000, response: 5_000, ...times },
      model
    })
    const runContext = createContext({ signal: ending.signal, ...context })
    const emit = async (part: YieldedPart) => void call.parts.push(part)
    const host = {
      context: runContext,
      settings,
      notify: (event: VoiceEngineEvent) => call.#take(event),
      emit
    }
    call.engine = await realtimeEngine(plan)(host)
    t.teardown(() => call.close())
    return call
  }

  /** Speaks a text, and is silent then. */
  speak(text: string, silenceMs = 200): void {
    this.listen(encodeTones(text, 24_000))
    this.silence(silenceMs)
  }

  silence(ms: number): void {
    this.listen(new Int16Array(24 * ms))
  }

  listen(samples: Int16Array): void {
    for (let at = 0; at < samples.length; at += 480) this.engine.append(samples.subarray(at, at + 480))
  }

  /** Asks, and waits for the end of the answer. */
  async ask(text: string): Promise<void> {
    const end = this.next('response.end')
    this.speak(text)
    await end
  }

  /** Adds a turn in writing. */
  write(itemId: string, text: string): void {
    this.#words.set(itemId, text)
    this.engine.write({ itemId, text })
  }

  /** Resolves at the next event of a type. */
  next(type: VoiceEngineEvent['type'], count = 1): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ type, left: count, resolve }))
  }

  /** The events of a type so far. */
  all<T extends VoiceEngineEvent['type']>(type: T): Event<T>[] {
    return this.events.filter((event): event is Event<T> => event.type === type)
  }

  /** The texts of the answers, in order. */
  get answers(): string[] {
    const texts = ['']
    for (const event of this.events) {
      if (event.type === 'text') texts[texts.length - 1] += event.delta
      if (event.type === 'response.end') texts.push('')
    }
    return texts.slice(0, -1)
  }

  /** The words of the turns, in order of the turns. */
  get questions(): (string | undefined)[] {
    return this.all('turn').map(({ itemId }) => this.#words.get(itemId))
  }

  interrupt(played: PlayedAnswer): void {
    this.engine.interrupt(played)
  }

  respond(): void {
    this.#isAnswering = true
    this.engine.respond({
      index: this.#index++,
      turns: this.#turns.splice(0).map((itemId) => ({ itemId, text: this.#words.get(itemId) })),
      instructions: undefined,
      modality: 'audio'
    })
  }

  close(): void {
    void this.engine.close()
  }

  #take(event: VoiceEngineEvent): void {
    this.events.push(event)
    if (event.type === 'transcript' && event.final) this.#words.set(event.itemId, event.text)
    if (event.type === 'audio') this.audio.push(event.samples)
    if (event.type === 'turn') this.#turns.push(event.itemId)
    if (event.type === 'response.end') this.#isAnswering = false
    if (event.type === 'answer.end') this.#play(this)
    if (this.#turns.length > 0 && !this.#isAnswering) this.respond()
    for (const waiting of this.#waiting.filter(({ type }) => type === event.type))
      if (--waiting.left === 0) waiting.resolve()
    this.#waiting = this.#waiting.filter(({ left }) => left > 0)
  }
}
