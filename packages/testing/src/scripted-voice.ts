import {
  DEFAULT_AUDIO_FORMAT,
  durationOf,
  ZERO_USAGE,
  type RunContext,
  type VoiceInput,
  type VoiceLink,
  type VoiceRunnable,
  type YieldedPart
} from '@svc/contract'
import { scriptedRunnable, type ScriptedRunnableOptions } from './scripted-runnable.ts'

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
      ...{ type: 'item', itemId, previousItemId: this.#previousItemId },
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
