import {
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  ZERO_USAGE,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableDefinition,
  type RunnableKind,
  type VoiceInput,
  type VoiceLink,
  type VoiceRunnable,
  type YieldedPart
} from '@svc/contract'
import { defineRunnable } from '@svc/registry'

/** One act of a scripted runnable: a part to yield, milliseconds to wait, or a function of the context. */
export type ScriptedAct = YieldedPart | number | ((context: RunContext, input: RunInput) => unknown)

/** Options of a scripted runnable. */
export interface ScriptedRunnableOptions {
  kind?: RunnableKind
  name?: string
  description?: string
}

/** Creates a runnable that plays a script; waits end with the run's signal, and errors of acts fail the run. */
export function scriptedRunnable(
  script: readonly ScriptedAct[],
  options: ScriptedRunnableOptions = {}
): Runnable {
  const { kind = 'agent', name = 'scripted', description } = options
  return defineRunnable({
    kind,
    name,
    description,
    async *stream(input, context) {
      for (const act of script) {
        if (typeof act === 'number') await pause(act, context.signal)
        else if (typeof act === 'function') await act(context, input)
        else yield act
      }
    }
  })
}

/**
 * Creates a workflow named `flow` that any process can resume: each step writes what `act` returns and a semicolon. A recorded step
 * does neither again.
 */
export function steppedRunnable(
  steps: readonly string[],
  act: (step: string, context: RunContext) => unknown
): Runnable {
  return defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      for (const step of steps) {
        let text = ''
        await context.step(step, async () => void (text = `${String(await act(step, context))};`))
        if (text !== '') yield { type: 'text', text }
      }
    }
  })
}

/** Waits for `ms` milliseconds, or until the signal aborts. @throws the signal's reason */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

/** Options of `talkingRunnable`. */
export interface TalkingOptions {
  /** Default `talk`. */
  name?: string
  /** Called when a run has its turn, before it loads the session. */
  before?: (input: unknown) => Promise<void>
}

/**
 * An agent whose runs take turns of their session. Each answers with the messages of users before its own, and its own, and saves that.
 */
export function talkingRunnable({ name = 'talk', before }: TalkingOptions = {}): RunnableDefinition {
  return {
    kind: 'agent',
    name,
    takesTurns: true,
    async run(input, { stores, sessionId, sessionOwner: owner, registry, idempotencyKey, signal }) {
      const key = { registry, owner, kind: 'agent', name, sessionId } as const
      const end = await stores.sessions.lock(key, signal, idempotencyKey)
      try {
        await before?.(input)
        const earlier = await stores.sessions.load(key, 100)
        const said = earlier.map((message) => (message.role === 'user' ? message.content : ''))
        await stores.sessions.append(key, idempotencyKey, [{ role: 'user', content: String(input) }])
        return [...said, input].join(' ')
      } finally {
        end()
      }
    }
  }
}

/** One call of a scripted voice: its parts. */
export type Converse = (link: VoiceLink, context: RunContext) => AsyncIterable<YieldedPart>

/** Bytes of the frames of answers. */
const FRAME = 4_800

/**
 * Creates a runnable that can be called.
 * @param converse default: a parrot, which answers each `respond`, and each turn unless `turns.respond` is false, with what it received:
 * the audio of the turn, or its text and one second of silence
 */
export function scriptedVoice(
  converse: Converse = (link) => new Parrot(link).converse(),
  options: ScriptedRunnableOptions = {}
): VoiceRunnable {
  const { name = 'voice' } = options
  const oneShot = scriptedRunnable([{ type: 'text', text: 'A message was received' }], { ...options, name })
  return Object.assign(oneShot, { converse })
}

/** Answers with what it receives. */
class Parrot {
  readonly #link: VoiceLink
  #frames: Uint8Array[] = []
  #turn: { readonly itemId: string; readonly text: string; readonly audio: Uint8Array } | undefined
  #items = 0
  #previousItemId: string | undefined
  #respondsAlways: boolean

  constructor(link: VoiceLink) {
    this.#link = link
    this.#respondsAlways = link.settings.turns?.respond !== false
  }

  async *converse(): AsyncGenerator<YieldedPart> {
    await this.#link.send({ type: 'state', state: 'listening' })
    for await (const input of this.#link.input) yield* this.#take(input)
  }

  async *#take(input: VoiceInput): AsyncGenerator<YieldedPart> {
    switch (input.type) {
      case 'audio':
        this.#frames.push(input.audio.slice())
        return
      case 'clear':
        this.#frames = []
        return
      case 'configure':
        this.#respondsAlways = input.settings.turns?.respond ?? this.#respondsAlways
        return
      case 'commit': {
        const audio = concat(this.#frames.splice(0))
        await this.#startTurn(input.itemId, `${audio.byteLength} bytes`, audio)
        if (this.#respondsAlways) yield* this.#respond()
        return
      }
      case 'text':
        await this.#startTurn(input.itemId, input.text)
        if (input.respond) yield* this.#respond()
        return
      case 'respond':
        yield* this.#respond(input.modality)
        return
      case 'truncate': {
        const { itemId, heardMs } = input
        await this.#link.send({ type: 'truncated', itemId, heardMs, text: '' })
        return
      }
      default:
    }
  }

  async #startTurn(itemId = this.#nextId('user'), text: string, audio?: Uint8Array): Promise<void> {
    const link = this.#link
    await link.send({
      type: 'item',
      itemId,
      previousItemId: this.#previousItemId,
      ...(audio === undefined && { text })
    })
    if (audio !== undefined) await link.send({ type: 'transcript', itemId, text, final: true })
    const { rate } = link.settings.output ?? DEFAULT_AUDIO_FORMAT
    this.#turn = { itemId, text, audio: audio ?? new Uint8Array(2 * rate) }
    this.#previousItemId = itemId
  }

  async *#respond(modality = this.#link.settings.modality ?? 'audio'): AsyncGenerator<YieldedPart> {
    const link = this.#link
    const { text, audio } = this.#turn ?? { text: 'nothing', audio: new Uint8Array(FRAME) }
    const [responseId, itemId] = [this.#nextId('response'), this.#nextId('answer')]
    const format = link.settings.output ?? DEFAULT_AUDIO_FORMAT
    await link.send({ type: 'response.start', responseId })
    const previousItemId = this.#previousItemId
    await link.send({ type: 'answer.start', responseId, itemId, previousItemId, modality })
    this.#previousItemId = itemId
    await link.send({ type: 'text', responseId, itemId, delta: text })
    const played = modality === 'audio' ? audio : new Uint8Array()
    for (let start = 0; start < played.byteLength; start += FRAME) {
      const frame = played.subarray(start, start + FRAME)
      const startMs = durationOf(format, start)
      await link.send({ type: 'audio', responseId, itemId, audio: frame, startMs })
    }
    const durationMs = durationOf(format, played.byteLength)
    await link.send({ type: 'answer.end', responseId, itemId, text, durationMs })
    await link.send({ type: 'response.end', responseId, status: 'completed', usage: ZERO_USAGE })
    yield { type: 'text', text }
  }

  #nextId(kind: string): string {
    return `${kind}-${++this.#items}`
  }
}

function concat(frames: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(frames))
}
