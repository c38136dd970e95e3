/**
 * An event of the protocol, in either direction.
 * @typedef {{ type: string } & Record<string, any>} RealtimeEvent
 */

/**
 * @typedef {object} CallOptions
 * @property {string} model name of the voice agent
 * @property {string} base path of the Realtime API, such as `/v1`
 * @property {string} token bearer token; empty if the service needs none
 * @property {(event: RealtimeEvent) => void} onEvent gets the events of the server
 * @property {(reason: string) => void} onClose gets why the call ended; empty if the user hung up
 */

/** Attempts to come back to a call, and milliseconds before the first; the wait doubles. */
const ATTEMPTS = 4
const WAIT = 250

/** A call over the Realtime API; a lost connection is opened again. */
export class RealtimeCall {
  #options
  /** @type {WebSocket | undefined} */
  #socket
  /** Names the call, once it has begun. */
  #callId = ''
  #attempts = 0
  #isOver = false

  /** @param {CallOptions} options */
  constructor(options) {
    this.#options = options
  }

  /** Gets a client secret, which a browser can send with a WebSocket, and connects. @throws Error */
  async open() {
    const secret = await this.#requestSecret()
    if (this.#isOver) return
    const { base, model } = this.#options
    const url = new URL(`${base}/realtime`, location.href)
    url.protocol = url.protocol.replace('http', 'ws')
    url.searchParams.set('model', model)
    if (this.#callId !== '') url.searchParams.set('call', this.#callId)
    const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${secret}`])
    this.#socket = socket
    socket.onmessage = ({ data }) => this.#take(JSON.parse(data))
    socket.onclose = ({ code, reason }) => this.#lose(code, reason)
  }

  /** @param {RealtimeEvent} event is dropped while the connection is away */
  send(event) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(event))
  }

  hangUp() {
    this.#isOver = true
    this.#socket?.close(1000)
    this.#options.onClose('')
  }

  async #requestSecret() {
    const { base, model, token } = this.#options
    const response = await fetch(`${base}/realtime/client_secrets`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` })
      },
      body: JSON.stringify({ session: { type: 'realtime', model } })
    })
    const body = await response.json().catch(() => ({}))
    if (!response.ok)
      throw new Error(body.message ?? body.error?.message ?? `The service answered ${response.status}`)
    return /** @type {string} */ (body.value)
  }

  /** @param {RealtimeEvent} event */
  #take(event) {
    if (event.type === 'conversation.created') this.#callId = event['conversation'].id
    this.#attempts = 0
    this.#options.onEvent(event)
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #lose(code, reason) {
    if (this.#isOver) return
    // Only a connection that was cut can come back; the others were refused or have ended.
    const wasCut = code === 1006 && this.#callId !== '' && this.#attempts < ATTEMPTS
    if (!wasCut) return this.#end(code === 1000 ? 'The call has ended' : reason || 'The connection was lost')
    const wait = WAIT * 2 ** this.#attempts++
    setTimeout(() => this.open().catch((/** @type {Error} */ err) => this.#end(err.message)), wait)
  }

  /** @param {string} reason */
  #end(reason) {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.onClose(reason)
  }
}
