import { decodePcm, encodePcm } from './base64.js'
import { levelOf, Microphone } from './microphone.js'
import { RealtimeCall } from './realtime-call.js'
import { Speaker } from './speaker.js'

/** @typedef {import('./realtime-call.js').RealtimeEvent} RealtimeEvent */
/** @typedef {'connecting' | 'listening' | 'thinking' | 'speaking' | 'over'} State */

/**
 * What a conversation shows.
 * @typedef {object} View
 * @property {(state: State) => void} showState
 * @property {(level: number) => void} showLevel
 * @property {(itemId: string, role: 'user' | 'assistant', text: string) => void} showText replaces the text of an item
 * @property {(itemId: string, text: string) => void} showCut marks an answer as interrupted, with what was played of it
 * @property {(message: string) => void} showFault
 */

const FORMAT = { type: 'audio/pcm', rate: 24_000 }
const SESSION = {
  type: 'realtime',
  output_modalities: ['audio'],
  audio: {
    input: {
      format: FORMAT,
      transcription: {},
      turn_detection: { type: 'server_vad', create_response: true, interrupt_response: true }
    },
    output: { format: FORMAT }
  }
}

/** Milliseconds of silence after which the service ends a turn, with some to spare. */
const TRAILING_SILENCE = 1_000

/** A call with its microphone and its speaker. */
export class Conversation {
  #view
  #call
  /** Undefined while it is muted. @type {Microphone | undefined} */
  #microphone
  #speaker = new Speaker()
  /** The texts of answers so far, by item. @type {Map<string, string>} */
  #answers = new Map()
  /** The answer that is played; empty if there is none. */
  #playing = ''
  /** The answer that was played last. It may resume while the next one is being made. */
  #latest = ''
  /** True once all audio of that answer is here. */
  #isWhole = false
  /** True from the end of a turn to the first audio of its answer. */
  #isThinking = false
  #isOver = false

  /**
   * @param {{ model: string, base: string, token: string }} service
   * @param {View} view
   */
  constructor(service, view) {
    this.#view = view
    this.#call = new RealtimeCall({
      ...service,
      onEvent: (event) => this.#take(event),
      onClose: (reason) => this.#end(reason)
    })
  }

  /** @throws Error if the call cannot begin; without a microphone it begins, in writing */
  async open() {
    this.#view.showState('connecting')
    await this.#speaker.open(({ itemId, isIdle }) => {
      if (isIdle && this.#isWhole && itemId === this.#playing) this.#fallSilent()
    })
    await this.#call.open()
    await this.unmute()
  }

  /** Releases the microphone. What was being said is a turn. */
  async mute() {
    const microphone = this.#microphone
    this.#microphone = undefined
    this.#view.showLevel(0)
    this.#send(new Int16Array((FORMAT.rate * TRAILING_SILENCE) / 1_000))
    await microphone?.close()
  }

  /** Asks for the microphone, at first and again after `mute`. */
  async unmute() {
    const microphone = new Microphone()
    this.#microphone = microphone
    await microphone
      .open((samples) => {
        if (this.#microphone !== microphone) return
        this.#view.showLevel(levelOf(samples))
        this.#send(samples)
      })
      .catch((/** @type {Error} */ err) => {
        if (this.#microphone === microphone)
          this.#view.showFault(`No microphone (${err.message}). You can write instead.`)
      })
    // The call may have ended, or muted the microphone, while the browser asked for it.
    if (this.#isOver || this.#microphone !== microphone) await microphone.close()
  }

  /** Sends a turn in writing. @param {string} text */
  write(text) {
    const content = [{ type: 'input_text', text }]
    this.stop()
    this.#call.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
    this.#call.send({ type: 'response.create' })
  }

  /** Ends the answer in progress. */
  stop() {
    if (this.#isThinking || this.#playing !== '') this.#call.send({ type: 'response.cancel' })
    this.#isThinking = false
    void this.#cut()
  }

  hangUp() {
    this.#call.hangUp()
  }

  /** @param {Int16Array} samples */
  #send(samples) {
    this.#call.send({ type: 'input_audio_buffer.append', audio: encodePcm(samples) })
  }

  /** @param {RealtimeEvent} event */
  #take(event) {
    const { type, item_id: itemId } = event
    switch (type) {
      case 'session.created':
        this.#call.send({ type: 'session.update', session: SESSION })
        return this.#view.showState('listening')
      case 'input_audio_buffer.speech_started':
        // Silence at once; whether it was speech is known a moment later.
        this.#speaker.pause()
        return this.#view.showState('listening')
      case 'input_audio_buffer.speech_stopped':
        return this.#speaker.resume()
      case 'input_audio_buffer.committed':
        this.#isThinking = true
        return this.#view.showState('thinking')
      case 'conversation.item.added':
        return this.#addItem(event['item'])
      case 'conversation.item.input_audio_transcription.completed':
        return this.#understand(itemId, event['transcript'])
      case 'conversation.item.input_audio_transcription.failed':
        return this.#understand(itemId, '')
      case 'response.output_audio_transcript.delta':
        this.#answers.set(itemId, (this.#answers.get(itemId) ?? '') + event['delta'])
        return this.#view.showText(itemId, 'assistant', this.#answers.get(itemId) ?? '')
      case 'response.output_audio.delta':
        return this.#play(itemId, event['delta'])
      case 'response.output_audio.done':
        this.#isWhole = true
        return undefined
      case 'output_audio_buffer.cleared':
        return void this.#cut()
      case 'conversation.item.truncated':
        return this.#call.send({ type: 'conversation.item.retrieve', item_id: itemId })
      case 'conversation.item.retrieved':
        return this.#view.showCut(event['item'].id, event['item'].content[0].transcript ?? '')
      case 'response.done':
        return this.#finish(event['response'])
      case 'error':
        return this.#fail(event['error'])
      default:
        return undefined
    }
  }

  /** @param {Record<string, any>} item */
  #addItem({ id, role, content }) {
    if (role === 'user') this.#view.showText(id, 'user', content[0].text ?? content[0].transcript ?? '…')
  }

  /**
   * @param {string} itemId
   * @param {string} text empty for a turn without words, which has no answer
   */
  #understand(itemId, text) {
    this.#view.showText(itemId, 'user', text || '(not understood)')
    if (text !== '') return
    this.#isThinking = false
    if (this.#playing === '') this.#view.showState('listening')
  }

  /** @param {Record<string, any>} response */
  #finish({ status, status_details: details }) {
    // The next one may be in the making.
    if (status === 'cancelled') {
      void this.#cut()
      return
    }
    this.#isThinking = false
    if (status === 'failed') this.#view.showFault(details?.error?.message ?? 'The answer failed')
    if (this.#playing === '') this.#view.showState('listening')
  }

  /**
   * @param {string} itemId
   * @param {string} base64
   */
  #play(itemId, base64) {
    if (itemId !== this.#latest) this.#isThinking = false
    this.#isWhole = false
    this.#playing = this.#latest = itemId
    this.#view.showState('speaking')
    this.#speaker.play(itemId, decodePcm(base64))
  }

  #fallSilent() {
    this.#playing = ''
    if (!this.#isOver) this.#view.showState(this.#isThinking ? 'thinking' : 'listening')
  }

  /** Discards the rest of an answer, and reports how much of it was played: the session keeps only that. */
  async #cut() {
    const cut = this.#playing
    this.#fallSilent()
    const { itemId, ms } = await this.#speaker.clear()
    // Of an answer that had not begun, nothing was played.
    const audio_end_ms = itemId === cut ? ms : 0
    if (cut !== '')
      this.#call.send({ type: 'conversation.item.truncate', item_id: cut, content_index: 0, audio_end_ms })
  }

  /** @param {{ code: string, message: string }} fault */
  #fail({ code, message }) {
    // The answer may end while its cancellation is on the way.
    if (code !== 'response_cancel_not_active') this.#view.showFault(message)
  }

  /** @param {string} reason */
  #end(reason) {
    this.#isOver = true
    if (reason !== '') this.#view.showFault(reason)
    this.#view.showLevel(0)
    this.#view.showState('over')
    void this.#microphone?.close().catch(() => {})
    this.#microphone = undefined
    void this.#speaker.close()
  }
}
