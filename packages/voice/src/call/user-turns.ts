import type { VoiceEngineEvent } from '../engines/engine.ts'
import { shownError, type CallScope } from './call-scope.ts'

type Event<T extends VoiceEngineEvent['type']> = Extract<VoiceEngineEvent, { type: T }>

/** A turn of the user, from its end. Times are milliseconds. */
export interface EndedTurn {
  readonly itemId: string
  /** Since the call began. */
  readonly startMs: number
  readonly endMs: number
  /** When the user stopped, by `performance.now()`. */
  readonly stoppedAt: number
  readonly endpointMs: number
  /** From the stop to the last words. */
  transcriptMs: number | undefined
  text: string | undefined
  /** False: it came in writing, or as a file. */
  readonly isSpoken: boolean
}

/** Decides about the words of a turn before they wait for an answer; true if they need none. */
export type TakeWords = (text: string) => boolean

/** The turns of the user in their order. Their words may come later, and in any order. */
export class UserTurns {
  readonly #scope: CallScope
  readonly #takeWords: TakeWords
  /** Those that nothing has answered yet. */
  #waiting: EndedTurn[] = []
  /** Those whose words are missing. */
  readonly #open = new Map<string, EndedTurn>()
  /** Words that came before the end of their turn; undefined for a failure. */
  readonly #early = new Map<string, Event<'transcript'> | undefined>()
  /** Those that the engine may report as turns. */
  readonly #written = new Set<string>()

  constructor(scope: CallScope, takeWords: TakeWords) {
    this.#scope = scope
    this.#takeWords = takeWords
  }

  /**
   * Adds a turn that was not spoken into the microphone; its words come later if it is a file.
   * @returns true if it waits for an answer
   */
  write(itemId: string, text: string | undefined): boolean {
    this.#written.add(itemId)
    const turn = this.#add({ itemId, startMs: 0, endMs: 0, endpointMs: 0 }, text)
    if (text !== undefined) this.#settle(turn, text)
    return this.#waiting.includes(turn)
  }

  /** A turn is over: it takes its place. */
  add(event: Event<'turn'>): void {
    const { itemId } = event
    // The engine repeats what was written.
    if (this.#written.delete(itemId)) return
    const turn = this.#add(event, undefined)
    if (!this.#early.has(itemId)) return
    const early = this.#early.get(itemId)
    this.#early.delete(itemId)
    if (early === undefined) this.#close(turn, undefined)
    else this.transcribe(early)
  }

  /** Takes words, in part or whole. */
  transcribe(event: Event<'transcript'>): void {
    const { itemId, text, final, language } = event
    const { link } = this.#scope
    const turn = this.#open.get(itemId)
    if (final && turn === undefined) return void this.#early.set(itemId, event)
    void link.send({ type: 'transcript', itemId, text, final })
    if (final && turn !== undefined) this.#settle(turn, text, language)
  }

  /** The words of a turn are lost: nothing can answer it. */
  fail({ itemId, error }: Event<'transcript.failed'>): void {
    const { link, context, order, write } = this.#scope
    const { code, message } = shownError(this.#scope, error)
    context.log.warn({ runId: context.runId, code }, 'a transcription failed')
    void link.send({ type: 'transcript.failed', itemId, code, message })
    if (!this.#scope.engine.answersAudio) {
      const index = order.nextTurn()
      write({ type: 'voice.turn', index, itemId, status: 'failed', heardMs: 0, text: '', latency: {} })
    }
    const turn = this.#open.get(itemId)
    if (turn === undefined) this.#early.set(itemId, undefined)
    else this.#close(turn, undefined)
  }

  /** The turns that wait for an answer. */
  get waiting(): readonly EndedTurn[] {
    return this.#waiting
  }

  /** True while one of them has no words yet. */
  get isTranscribing(): boolean {
    return this.#waiting.some(({ itemId }) => this.#open.has(itemId))
  }

  /** Takes the turns that wait for an answer. */
  take(): EndedTurn[] {
    return this.#waiting.splice(0)
  }

  #add(
    { itemId, startMs, endMs, endpointMs }: Omit<Event<'turn'>, 'type'>,
    text: string | undefined
  ): EndedTurn {
    const { order, link } = this.#scope
    const previousItemId = order.place(itemId)
    void link.send({ type: 'item', itemId, previousItemId, ...(text !== undefined && { text }) })
    const turn = {
      itemId,
      startMs,
      endMs,
      endpointMs,
      text,
      stoppedAt: performance.now() - endpointMs,
      transcriptMs: undefined,
      isSpoken: !this.#written.has(itemId)
    }
    this.#waiting.push(turn)
    this.#open.set(itemId, turn)
    return turn
  }

  #settle(turn: EndedTurn, text: string, language?: string): void {
    const { itemId, startMs, endMs } = turn
    const words = text.trim()
    turn.transcriptMs = Math.max(performance.now() - turn.stoppedAt, 0)
    this.#scope.write({
      type: 'voice.transcript',
      itemId,
      text: words,
      final: true,
      startMs,
      endMs,
      ...(language !== undefined && { language })
    })
    const isTaken = words !== '' && this.#takeWords(words)
    this.#close(turn, words === '' || isTaken ? undefined : words, isTaken)
  }

  // A turn without words waits for nothing, unless the engine has answered it by its sound.
  #close(turn: EndedTurn, text: string | undefined, isTaken = false): void {
    turn.text = text
    this.#open.delete(turn.itemId)
    if (text === undefined && (isTaken || !this.#scope.engine.answersAudio))
      this.#waiting = this.#waiting.filter((each) => each !== turn)
  }
}
