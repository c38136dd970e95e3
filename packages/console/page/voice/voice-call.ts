import { Microphone, RATE, Speaker } from './audio.ts'
import { decodePcm, encodePcm, levelOf } from './pcm.ts'
import { RealtimeSocket, type RealtimeEvent, type VoiceService } from './realtime-socket.ts'

/** How a call is doing. */
export type CallState = 'connecting' | 'listening' | 'thinking' | 'speaking'

/** What a call tells the page. What is said is in the log of its run. */
export interface CallListener {
  onState(state: CallState): void
  onRun(runId: string): void
  /** How loud the microphone is, from 0 to 1. */
  onLevel(level: number): void
  onFault(message: string): void
  onEnd(): void
}

const format = { type: 'audio/pcm', rate: RATE }
const SESSION = {
  type: 'realtime',
  output_modalities: ['audio'],
  audio: {
    input: {
      format,
      transcription: {},
      turn_detection: { type: 'server_vad', create_response: true, interrupt_response: true }
    },
    output: { format }
  }
}
/** Samples of silence after which the service ends a turn, with some to spare. */
const TRAILING_SILENCE = RATE

/** A call with its microphone and its speaker: answers stop as soon as the visitor speaks. */
export class VoiceCall {
  readonly #listener: CallListener
  readonly #socket: RealtimeSocket
  readonly #speaker = new Speaker()
  #microphone: Microphone | undefined
  // The answer that is played; empty if there is none.
  #playing = ''
  // The one that was played last: it may continue while the next one is being made.
  #latest = ''
  // All audio of it is here.
  #isWhole = false
  // From the end of a turn to the first audio of its answer.
  #isThinking = false
  #isOver = false

  constructor(service: VoiceService, listener: CallListener) {
    this.#listener = listener
    this.#socket = new RealtimeSocket(
      service,
      (event) => this.#take(event),
      (reason) => this.#end(reason)
    )
  }

  /** @throws ApiError, or DOMException of the audio; without a microphone the call begins, in writing */
  async open(): Promise<void> {
    this.#listener.onState('connecting')
    await this.#speaker.open(({ itemId, isIdle }) => {
      if (isIdle && this.#isWhole && itemId === this.#playing) this.#fallSilent()
    })
    await this.#socket.open()
    await this.unmute()
  }

  /** Releases the microphone; what was being said is a turn. */
  mute(): void {
    this.#microphone?.close()
    this.#microphone = undefined
    this.#listener.onLevel(0)
    this.#append(new Int16Array(TRAILING_SILENCE))
  }

  async unmute(): Promise<void> {
    const microphone = new Microphone()
    this.#microphone = microphone
    try {
      await microphone.open((samples) => {
        if (this.#microphone !== microphone) return
        this.#listener.onLevel(levelOf(samples))
        this.#append(samples)
      })
    } catch (err) {
      if (this.#microphone === microphone)
        this.#listener.onFault(`There is no microphone: ${(err as Error).message}. You can write instead.`)
    }
    if (this.#isOver || this.#microphone !== microphone) microphone.close()
  }

  /** Sends a turn in writing. */
  write(text: string): void {
    const content = [{ type: 'input_text', text }]
    this.stop()
    this.#socket.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
    this.#socket.send({ type: 'response.create' })
  }

  /** Ends the answer under way. */
  stop(): void {
    if (this.#isThinking || this.#playing !== '') this.#socket.send({ type: 'response.cancel' })
    this.#isThinking = false
    void this.#cut()
  }

  hangUp(): void {
    this.#socket.hangUp()
  }

  #append(samples: Int16Array): void {
    this.#socket.send({ type: 'input_audio_buffer.append', audio: encodePcm(samples) })
  }

  #take(event: RealtimeEvent): void {
    switch (event.type) {
      case 'session.created':
        this.#socket.send({ type: 'session.update', session: SESSION })
        return this.#listener.onState('listening')
      case 'conversation.created':
        return this.#listener.onRun(event.conversation!.id)
      case 'input_audio_buffer.speech_started':
        // Silence at once; whether it was speech is known a moment later.
        this.#speaker.pause(true)
        return this.#listener.onState('listening')
      case 'input_audio_buffer.speech_stopped':
        return this.#speaker.pause(false)
      case 'input_audio_buffer.committed':
        this.#isThinking = true
        return this.#listener.onState('thinking')
      case 'conversation.item.input_audio_transcription.completed':
        // A turn without words has no answer.
        return event.transcript === '' ? this.#expectNothing() : undefined
      case 'conversation.item.input_audio_transcription.failed':
        return this.#expectNothing()
      case 'response.output_audio.delta':
        return this.#play(event.item_id!, decodePcm(event.delta!))
      case 'response.output_audio.done':
        this.#isWhole = true
        return
      case 'output_audio_buffer.cleared':
        return void this.#cut()
      case 'response.done':
        return this.#finish(event.response!)
      case 'error':
        // The answer may end while its cancellation is on the way.
        if (event.error!.code !== 'response_cancel_not_active') this.#listener.onFault(event.error!.message)
    }
  }

  #expectNothing(): void {
    this.#isThinking = false
    if (this.#playing === '') this.#listener.onState('listening')
  }

  #finish({ status, status_details: details }: NonNullable<RealtimeEvent['response']>): void {
    // The next one may be in the making.
    if (status === 'cancelled') return void this.#cut()
    if (status === 'failed') this.#listener.onFault(details?.error?.message ?? 'The answer has failed.')
    this.#expectNothing()
  }

  #play(itemId: string, samples: Int16Array): void {
    if (itemId !== this.#latest) this.#isThinking = false
    this.#isWhole = false
    this.#playing = this.#latest = itemId
    this.#listener.onState('speaking')
    this.#speaker.play(itemId, samples)
  }

  #fallSilent(): void {
    this.#playing = ''
    if (!this.#isOver) this.#listener.onState(this.#isThinking ? 'thinking' : 'listening')
  }

  // Discards the rest of an answer, and reports how much of it was played: the session keeps only that.
  async #cut(): Promise<void> {
    const item_id = this.#playing
    this.#fallSilent()
    const { itemId, samples } = await this.#speaker.clear()
    // Of an answer that had not begun, nothing was played.
    const audio_end_ms = itemId === item_id ? Math.round((samples / RATE) * 1_000) : 0
    if (item_id !== '')
      this.#socket.send({ type: 'conversation.item.truncate', item_id, content_index: 0, audio_end_ms })
  }

  #end(reason: string): void {
    this.#isOver = true
    this.#microphone?.close()
    this.#microphone = undefined
    this.#speaker.close()
    if (reason !== '') this.#listener.onFault(reason)
    this.#listener.onEnd()
  }
}
