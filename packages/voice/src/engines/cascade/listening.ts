import { newId } from '../../call/call-scope.ts'
import type { TurnDetector, VoiceDetector } from '../../detect/fvad.ts'
import { TurnFinder, type EndpointSettings, type TurnEvent } from '../../detect/turn-finder.ts'
import type { OpenTranscription, TurnTranscription } from '../../speech/model-calls.ts'
import type { EngineHost } from '../engine.ts'

/** The words of one turn, whose id may be known later than the first of them. */
class TurnWords {
  /** The words so far. */
  text = ''
  #itemId: string | undefined
  readonly #transcription: TurnTranscription
  readonly #notify: EngineHost['notify']
  readonly #onEnd: () => void

  constructor(open: OpenTranscription, notify: EngineHost['notify'], onEnd: () => void) {
    this.#notify = notify
    this.#onEnd = onEnd
    this.#transcription = open({
      words: (text, final, language) => this.#take(text, final, language),
      fail: (error) => this.#fail(error)
    })
  }

  /** Undefined until the turn has a name. */
  get itemId(): string | undefined {
    return this.#itemId
  }

  name(itemId: string): void {
    this.#itemId = itemId
  }

  push(samples: Int16Array): void {
    this.#transcription.push(samples)
  }

  read(audio: Uint8Array, mimeType: string): void {
    this.#transcription.read(audio, mimeType)
  }

  end(): void {
    this.#transcription.end()
  }

  stop(): void {
    this.#transcription.stop()
    this.#onEnd()
  }

  #take(text: string, final: boolean, language: string | undefined): void {
    if (!final && text === this.text) return
    this.text = text
    const itemId = this.#itemId
    // Before a turn has a name, no client knows of it.
    if (itemId !== undefined)
      this.#notify({ type: 'transcript', itemId, text, final, ...(language !== undefined && { language }) })
    if (final) this.#onEnd()
  }

  #fail(error: unknown): void {
    const itemId = this.#itemId
    if (itemId !== undefined) this.#notify({ type: 'transcript.failed', itemId, error })
    this.#onEnd()
  }
}

/** What listening needs of its engine. */
export interface ListeningHost {
  readonly notify: EngineHost['notify']
  readonly detector: VoiceDetector
  readonly turnDetector: TurnDetector | undefined
  readonly settings: EndpointSettings
  readonly transcribe: OpenTranscription
}

/** Finds the turns in the audio of a call, and their words. */
export class Listening {
  readonly #host: ListeningHost
  #finder!: TurnFinder
  /** The turn under way. */
  #words: TurnWords | undefined
  /** How the client names the turn that it commits. */
  #name: string | undefined
  readonly #open = new Set<TurnWords>()

  /** @throws RUN_ERR_NOT_INSTALLED */
  static async open(host: ListeningHost): Promise<Listening> {
    const listening = new Listening(host)
    const { detector, turnDetector, settings, notify } = host
    listening.#finder = await TurnFinder.open(detector, {
      settings,
      turnDetector,
      transcript: () => listening.#words?.text ?? '',
      notify: (event) => listening.#take(event),
      onError: (error) => notify({ type: 'error', error, fatal: false })
    })
    return listening
  }

  private constructor(host: ListeningHost) {
    this.#host = host
  }

  append(samples: Int16Array): void {
    this.#finder.append(samples)
  }

  commit(itemId: string): void {
    this.#name = itemId
    this.#finder.commit()
  }

  clear(): void {
    this.#finder.clear()
  }

  configure(settings: EndpointSettings): void {
    this.#finder.configure(settings)
  }

  /** Transcribes an audio file, the turn of this id. */
  read(itemId: string, audio: Uint8Array, mimeType: string): void {
    const words = this.#begin()
    words.name(itemId)
    words.read(audio, mimeType)
  }

  close(): void {
    this.#finder.close()
    for (const words of this.#open) words.stop()
  }

  #take(event: TurnEvent): void {
    const { notify } = this.#host
    if (event.type === 'start') {
      const itemId = newId('item')
      this.#words ??= this.#begin()
      this.#words.name(itemId)
      notify({ type: 'speech.start', itemId, atMs: event.atMs })
    } else if (event.type === 'interrupt') {
      const itemId = this.#words?.itemId
      if (itemId !== undefined) notify({ type: 'speech.interrupt', itemId })
    } else if (event.type === 'audio') {
      this.#words ??= this.#begin()
      this.#words.push(event.samples)
    } else this.#end(event)
  }

  #end({ startMs, endMs, speechEndMs, isTurn }: Extract<TurnEvent, { type: 'end' }>): void {
    const { notify } = this.#host
    const words = this.#words ?? this.#begin()
    const name = this.#name ?? newId('item')
    this.#words = this.#name = undefined
    const spoken = words.itemId
    if (spoken !== undefined) notify({ type: 'speech.stop', itemId: spoken, atMs: speechEndMs })
    if (!isTurn) return words.stop()
    const itemId = spoken ?? name
    words.name(itemId)
    notify({ type: 'turn', itemId, startMs, endMs, endpointMs: Math.max(endMs - speechEndMs, 0) })
    words.end()
  }

  #begin(): TurnWords {
    const { notify, transcribe } = this.#host
    const words = new TurnWords(transcribe, notify, () => this.#open.delete(words))
    this.#open.add(words)
    return words
  }
}
