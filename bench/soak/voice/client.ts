import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { encodeTones } from '@svc/voice/testing'
import { WebSocket } from 'ws'

type Event = { readonly type: string } & Readonly<Record<string, unknown>>

/** Hz of the audio in both directions. */
const RATE = 16_000
/** Milliseconds for an event. */
const DEADLINE = 5_000
const FORMAT = { type: 'audio/pcm', rate: RATE }
const SESSION = {
  type: 'realtime',
  audio: { input: { format: FORMAT, transcription: {} }, output: { format: FORMAT } }
}

/** A client of the Realtime API that does not behave. */
export class RoughClient {
  readonly #url: string
  #socket!: WebSocket
  #callId: string | undefined
  #waiting: { types: readonly string[]; resolve(event: Event): void; reject(err: Error): void }[] = []

  /** @param url of the Realtime API, with the query */
  constructor(url: string) {
    this.#url = url
  }

  /** The run of the call. */
  get callId(): string {
    if (this.#callId === undefined) throw new Error('the call has not begun')
    return this.#callId
  }

  /** Calls, or comes back to the call. */
  async connect(): Promise<void> {
    const url = this.#callId === undefined ? this.#url : `${this.#url}&call=${this.#callId}`
    const socket = new WebSocket(url, ['realtime'])
    this.#socket = socket
    socket.on('message', (data) => this.#take(JSON.parse((data as Buffer).toString()) as Event))
    socket.on('error', () => {})
    socket.on('close', (code) => {
      if (socket === this.#socket)
        for (const { reject } of this.#waiting.splice(0)) reject(new Error(`closed ${code}`))
    })
    const begun = this.next('conversation.created')
    await this.next('session.created')
    if (this.#callId === undefined) this.send({ type: 'session.update', session: SESSION })
    await begun
  }

  send(event: Event): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event))
  }

  /** Says something, at twice the speed of speech, and falls silent. */
  async say(text: string): Promise<void> {
    for (const samples of [encodeTones(text, RATE), new Int16Array(RATE * 0.4)])
      for (let at = 0; at < samples.length; at += RATE / 50) {
        this.append(samples.slice(at, at + RATE / 50))
        await pause(10)
      }
  }

  append(samples: Int16Array): void {
    this.send({ type: 'input_audio_buffer.append', audio: Buffer.from(samples.buffer).toString('base64') })
  }

  /** The next event of one of these types. @throws when the connection is closed before, or after 5 seconds */
  next(...types: string[]): Promise<Event> {
    const found = new Promise<Event>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${types.join(' or ')}`)), DEADLINE)
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer)
          how(value)
        }
      this.#waiting.push({ types, resolve: settle(resolve), reject: settle(reject) })
    })
    found.catch(() => {})
    return found
  }

  /** Cuts the connection, without a word. */
  cut(): void {
    this.#socket.terminate()
  }

  async hangUp(): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED) return
    const closed = once(this.#socket, 'close')
    this.#socket.close(1000)
    await closed
  }

  #take(event: Event): void {
    if (event.type === 'conversation.created') this.#callId = (event['conversation'] as { id: string }).id
    const found = this.#waiting.filter(({ types }) => types.includes(event.type))
    this.#waiting = this.#waiting.filter(({ types }) => !types.includes(event.type))
    for (const { resolve } of found) resolve(event)
  }
}
