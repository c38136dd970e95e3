import { setTimeout as pause } from 'node:timers/promises'
import type { Sound } from './sounds.ts'

/** One turn of a call, as its client sees it. */
export interface Exchange {
  /** What was understood of the user. */
  understood: string
  /** The words of the answer. */
  answer: string
  /** Its audio. */
  sound: Sound
}

type Event = { type: string } & Record<string, unknown>

/** Hz of the answers. */
const RATE = 16_000
/** Milliseconds of a frame, and of the silence after each utterance. */
const FRAME = 20
const SILENCE = 900

/** A client of the Realtime API that says what it is given, and collects the answers. */
export class PhoneClient {
  readonly #socket: WebSocket
  readonly #events: Event[] = []
  readonly #rate: number
  #wake = Promise.withResolvers<void>()
  #fault: Error | undefined

  private constructor(socket: WebSocket, rate: number) {
    this.#socket = socket
    this.#rate = rate
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(data as string) as Event))
    socket.addEventListener('close', ({ code, reason }) => this.#fail(new Error(`closed: ${code} ${reason}`)))
  }

  /**
   * Calls a voice agent.
   * @param url of the Realtime API, with the query
   * @param rate Hz of what is said
   */
  static async call(url: string, rate: number): Promise<PhoneClient> {
    const client = new PhoneClient(new WebSocket(url, ['realtime']), rate)
    await client.#next('session.created')
    const format = (hertz: number) => ({ type: 'audio/pcm', rate: hertz })
    const audio = { input: { format: format(rate), transcription: {} }, output: { format: format(RATE) } }
    client.#send({ type: 'session.update', session: { type: 'realtime', audio } })
    await client.#next('session.updated')
    return client
  }

  /** Says something at up to twice the speed of speech, and waits for the answer. */
  async say(samples: Int16Array<ArrayBuffer>): Promise<Exchange> {
    const silence = new Int16Array((this.#rate * SILENCE) / 1_000)
    const size = Math.round((this.#rate * FRAME) / 1_000)
    for (const part of [samples, silence])
      for (let at = 0; at < part.length; at += size) {
        const bytes = Buffer.from(part.slice(at, at + size).buffer)
        this.#send({ type: 'input_audio_buffer.append', audio: bytes.toString('base64') })
        await pause(FRAME / 2)
      }
    return this.answer()
  }

  /** Waits for the next answer. Audio of the one before it may still come, where that was resumed until the words of this turn came. */
  async answer(): Promise<Exchange> {
    const { response } = await this.#next('response.done')
    const { id, status } = response as { id: string; status: string }
    if (status !== 'completed') throw new Error(`the answer is ${status}`)
    const texts = this.#drain('conversation.item.input_audio_transcription.completed')
    const answers = this.#drain('response.output_audio_transcript.done')
    const audio = this.#drain('response.output_audio.delta')
      .filter((event) => event['response_id'] === id)
      .map(({ delta }) => Buffer.from(delta as string, 'base64'))
    return {
      understood: texts.map(({ transcript }) => transcript as string).join(' '),
      answer: answers.map(({ transcript }) => transcript as string).join(' '),
      sound: { samples: new Int16Array(new Uint8Array(Buffer.concat(audio)).buffer), rate: RATE }
    }
  }

  hangUp(): void {
    this.#socket.close(1000)
  }

  #send(event: Event): void {
    if (this.#fault !== undefined) throw this.#fault
    this.#socket.send(JSON.stringify(event))
  }

  #take(event: Event): void {
    if (event.type === 'error') return this.#fail(new Error(JSON.stringify(event['error'])))
    this.#events.push(event)
    this.#news()
  }

  #fail(fault: Error): void {
    this.#fault ??= fault
    this.#news()
  }

  #news(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }

  #drain(type: string): Event[] {
    const found = this.#events.filter((event) => event.type === type)
    for (const event of found) this.#events.splice(this.#events.indexOf(event), 1)
    return found
  }

  async #next(type: string): Promise<Event> {
    for (;;) {
      const at = this.#events.findIndex((event) => event.type === type)
      if (at >= 0) return this.#events.splice(at, 1)[0]!
      if (this.#fault !== undefined) throw this.#fault
      await this.#wake.promise
    }
  }
}
