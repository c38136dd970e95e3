import { once } from 'node:events'
import type { ResponseEvent, ResponseObject } from '@svc/openai'
import { WebSocket, type ClientOptions } from 'ws'
import { checkItemStates } from './item-states.ts'
import { findEventFault, findResponseFault } from './open-responses.ts'

/** An error of a connection. */
export interface SocketError {
  readonly type: 'error'
  readonly status: number
  readonly error: { readonly code: string; readonly message: string; readonly type: string }
}

/** What one `response.create` is answered with. */
export interface Turn {
  readonly events: readonly ResponseEvent[]
  readonly response?: ResponseObject
  readonly error?: SocketError
}

const LAST = ['response.completed', 'response.incomplete', 'response.failed']

/** A plain WebSocket of the Responses API, which checks each event and response against the schemas of Open Responses. */
export class ResponseSocket {
  readonly ws: WebSocket
  readonly received: { readonly type: string }[] = []
  #read = 0
  #wake: (() => void) | undefined

  constructor(baseURL: string, options?: ClientOptions) {
    this.ws = new WebSocket(`${baseURL.replace('http', 'ws')}/responses`, options)
    this.ws.on('message', (data: Buffer) => {
      this.received.push(JSON.parse(String(data)) as ResponseEvent)
      this.#wake?.()
    })
    this.ws.on('close', () => this.#wake?.())
  }

  /** The code and the reason with which the connection is closed. */
  async closed(): Promise<[code: number, reason: string]> {
    const [code, reason] = (await once(this.ws, 'close')) as [number, Buffer]
    return [code, String(reason)]
  }

  async send(event: object | string): Promise<void> {
    if (this.ws.readyState === this.ws.CONNECTING) await once(this.ws, 'open')
    this.ws.send(typeof event === 'string' ? event : JSON.stringify(event))
  }

  /** The next event; undefined once the connection is closed. */
  async next(): Promise<{ readonly type: string } | undefined> {
    while (this.#read === this.received.length) {
      if (this.ws.readyState >= this.ws.CLOSING) return undefined
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.received[this.#read++]
  }

  /** The events up to the end of a response, or an error. */
  async answer(): Promise<Turn> {
    const events: ResponseEvent[] = []
    for (let event = await this.next(); event !== undefined; event = await this.next()) {
      if (event.type === 'error') return { events, error: event as SocketError }
      const known = event as ResponseEvent
      const fault = findEventFault(known)
      if (fault !== undefined) throw new Error(fault)
      events.push(known)
      if (!LAST.includes(event.type) || !('response' in known)) continue
      const { response } = known
      const wrong = findResponseFault(response)
      if (wrong !== undefined) throw new Error(wrong)
      checkItemStates(events)
      return { events, response }
    }
    throw new Error(`closed after ${events.length} events`)
  }

  async ask(body: object): Promise<Turn> {
    await this.send({ type: 'response.create', ...body })
    return this.answer()
  }
}
