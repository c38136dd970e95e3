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
