import type { Order, Progress } from './audio-worklet.ts'

/** Hz of the audio in both directions; it is PCM with 16 bits. */
const RATE = 24_000

const worklet = new URL(AUDIO_WORKLET, import.meta.url)

/** What the microphone of a call does. */
export class Microphone {
  readonly #context = new AudioContext()
  #stream: MediaStream | undefined
  #isClosed = false

  /**
   * Asks for the microphone, and captures it until `close`. Browsers remove the echo of what the page plays; their gain control and noise
   * suppression make speech harder to understand for models.
   * @param onAudio gets 40 ms at a time
   * @throws DOMException if the visitor denies it, or there is none
   */
  async open(onAudio: (samples: Int16Array) => void): Promise<void> {
    this.#stream = await navigator.mediaDevices.getUserMedia({
      audio: { channelCount: 1, echoCancellation: true, noiseSuppression: false, autoGainControl: false }
    })
    await this.#context.audioWorklet.addModule(worklet)
    if (this.#isClosed) return this.#release()
    const capture = new AudioWorkletNode(this.#context, 'capture', { numberOfOutputs: 0 })
    capture.port.onmessage = ({ data }: MessageEvent<Int16Array>) => onAudio(data)
    this.#context.createMediaStreamSource(this.#stream).connect(capture)
    await this.#context.resume()
  }

  /** Releases the microphone; safe to call twice. */
  close(): void {
    if (!this.#isClosed) void this.#context.close()
    this.#isClosed = true
    this.#release()
  }

  #release(): void {
    for (const track of this.#stream?.getTracks() ?? []) track.stop()
  }
}

/** Plays the answers of a call. */
class Speaker {
  readonly #context = new AudioContext({ sampleRate: RATE })
  readonly #waiting: ((progress: Progress) => void)[] = []
  #node: AudioWorkletNode | undefined

  /** @param onProgress about ten times a second while something is played, and at its end */
  async open(onProgress: (progress: Progress) => void): Promise<void> {
    await this.#context.audioWorklet.addModule(worklet)
    this.#node = new AudioWorkletNode(this.#context, 'playback', {
      numberOfInputs: 0,
      outputChannelCount: [1]
    })
    this.#node.connect(this.#context.destination)
    this.#node.port.onmessage = ({ data }: MessageEvent<Progress>) => {
      if (data.clear === undefined) onProgress(data)
      else this.#waiting[data.clear]!(data)
    }
    await this.#context.resume()
  }

  /** Adds audio to the end of what is played. */
  play(itemId: string, samples: Int16Array): void {
    this.#order({ itemId, samples })
  }

  /** Falls silent and keeps what is left, or continues with it. */
  pause(pause: boolean): void {
    this.#order({ pause })
  }

  /** Discards what is left, and says how far it came. */
  clear(): Promise<Progress> {
    return new Promise((resolve) => this.#order({ clear: this.#waiting.push(resolve) - 1 }))
  }

  close(): void {
    void this.#context.close()
  }

  #order(order: Order): void {
    this.#node?.port.postMessage(order)
  }
}

/** Encodes samples as base64 of little-endian PCM. */
function encodePcm({ buffer, byteOffset, byteLength }: Int16Array): string {
  let text = ''
  for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Decodes base64 of little-endian PCM. */
function decodePcm(base64: string): Int16Array {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length & ~1)
  for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index)
  return new Int16Array(bytes.buffer)
}

/** How loud samples are, from 0 at −60 dB to 1. */
function levelOf(samples: Int16Array): number {
  let sum = 0
  for (const sample of samples) sum += (sample / 32_768) ** 2
  return Math.max(0, 1 + Math.log10(Math.sqrt(sum / samples.length) + 1e-9) / 3)
}

/** An event of the OpenAI Realtime protocol, in either direction, as far as the page reads it. */
export interface RealtimeEvent {
  readonly type: string
  readonly item_id?: string
  readonly delta?: string
  readonly transcript?: string
  readonly conversation?: { readonly id: string }
  readonly response?: {
    readonly status: string
    readonly status_details?: { readonly error?: { readonly message?: string } } | null
  }
  readonly error?: { readonly code: string; readonly message: string }
  readonly [name: string]: unknown
}

/** Where the voice agents are, and who may call them. */
export interface VoiceService {
  /** Of the WebSocket, with the query of the call. */
  readonly url: URL
  /** Gets a client secret: browsers send no other credentials with a WebSocket. */
  readonly secret: () => Promise<string>
}

/** Attempts to come back to a call, and milliseconds before the first; the wait doubles. */
const ATTEMPTS = 4
const WAIT = 250

/** The connection of a call; a lost one is opened again, and continues where it was. */
export class RealtimeSocket {
  readonly #service: VoiceService
  readonly #onEvent: (event: RealtimeEvent) => void
  readonly #onEnd: (reason: string) => void
  #socket: WebSocket | undefined
  #callId = ''
  #attempts = 0
  #isOver = false

  /** @param onEnd gets why the call has ended; empty if the visitor has hung up */
  constructor(
    service: VoiceService,
    onEvent: (event: RealtimeEvent) => void,
    onEnd: (reason: string) => void
  ) {
    this.#service = service
    this.#onEvent = onEvent
    this.#onEnd = onEnd
  }

  /** @throws ApiError */
  async open(): Promise<void> {
    const secret = await this.#service.secret()
    if (this.#isOver) return
    const url = new URL(this.#service.url)
    url.protocol = url.protocol.replace('http', 'ws')
    if (this.#callId !== '') url.searchParams.set('call', this.#callId)
    const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${secret}`])
    this.#socket = socket
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(String(data)) as RealtimeEvent
      if (event.type === 'conversation.created') this.#callId = event.conversation!.id
      this.#attempts = 0
      this.#onEvent(event)
    }
    socket.onclose = ({ code, reason }) => this.#lose(code, reason)
  }

  /** Sends an event; it is dropped while the connection is away. */
  send(event: RealtimeEvent): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event))
  }

  hangUp(): void {
    this.#end('')
  }

  #lose(code: number, reason: string): void {
    // Only a connection that was cut can come back; the others were refused, or have ended.
    if (code !== 1006 || this.#callId === '' || this.#attempts === ATTEMPTS)
      return this.#end(code === 1000 ? 'The call has ended.' : reason || 'The connection was lost.')
    const wait = WAIT * 2 ** this.#attempts++
    setTimeout(() => {
      if (!this.#isOver) this.open().catch((err: unknown) => this.#end((err as Error).message))
    }, wait)
  }

  #end(reason: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#socket?.close(1000)
    this.#onEnd(reason)
  }
}

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
