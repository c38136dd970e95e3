import { setTimeout as pause } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { io } from 'socket.io-client'
import type { Random } from '../random.ts'
import type { ChannelService } from './channel-service.ts'

/** What one reader was sent. */
export interface Reading {
  /** In the order in which they came. */
  readonly parts: ReadPart[]
  cuts: number
}

/** A part as a reader got it; sockets have no JSON of the log. */
export interface ReadPart {
  readonly id: string
  readonly runId: string
  readonly json?: string
}

// Parts until a reader cuts its connection, at most.
const MAX_PARTS = 25
const RETRY = 10
// Milliseconds that a reader has from the end of the conversation.
const LATE = 30_000

/** Follows a session from its beginning until its last part, over connections that it cuts at random. */
export class Follower {
  readonly reading: Reading = { parts: [], cuts: 0 }
  readonly #service: ChannelService
  readonly #sessionId: string
  readonly #random: Random
  readonly #ended = new AbortController()
  #last: string | undefined
  #connection = new AbortController()

  constructor(service: ChannelService, sessionId: string, random: Random) {
    this.#service = service
    this.#sessionId = sessionId
    this.#random = random
  }

  /** The conversation is over: reads on until this part. */
  endAt(id: string): void {
    this.#last = id
    if (this.#isAtEnd) this.#connection.abort()
    setTimeout(() => {
      this.#ended.abort()
      this.#connection.abort()
    }, LATE).unref()
  }

  /** Resolves once it has read the last part, or is late. */
  async run(): Promise<Reading> {
    while (!this.#isAtEnd && !this.#ended.signal.aborted) {
      this.#connection = new AbortController()
      const read = this.#random.chance(0.5) ? this.#readHttp : this.#readSocket
      const count = this.#random.below(MAX_PARTS) + 1
      const before = this.reading.parts.length
      try {
        await read.call(this, this.#connection.signal, count)
      } catch {
        await pause(RETRY)
      }
      if (this.reading.parts.length - before >= count) this.reading.cuts++
    }
    return this.reading
  }

  get #isAtEnd(): boolean {
    return this.#last !== undefined && this.reading.parts.at(-1)?.id === this.#last
  }

  get #after(): string {
    return this.reading.parts.at(-1)?.id ?? '0.0'
  }

  // True if there is more to read on this connection.
  #add(part: ReadPart, left: number): boolean {
    this.reading.parts.push(part)
    return left > 1 && !this.#isAtEnd
  }

  async #readHttp(signal: AbortSignal, count: number): Promise<void> {
    const url = `${this.#service.origin(this.#random)}/api/sessions/agent/talker/${this.#sessionId}/stream`
    const response = await fetch(url, { headers: { 'last-event-id': this.#after }, signal })
    if (response.status !== 200) throw new Error(String(response.status))
    let left = count
    const parser = createParser({
      onEvent: ({ id, data }) => {
        // Notices have no place in the channel, and what comes after the cut is not looked at.
        if (id === undefined || left <= 0) return
        const { runId, ...part } = JSON.parse(data) as { runId: string; type: string }
        const json = JSON.stringify(part.type === 'start' ? { ...part, runId } : part)
        left = this.#add({ id, runId, json }, left) ? left - 1 : 0
        if (left === 0) this.#connection.abort()
      }
    })
    const text = response.body!.pipeThrough(new TextDecoderStream())
    for await (const chunk of text) parser.feed(chunk)
  }

  async #readSocket(signal: AbortSignal, count: number): Promise<void> {
    const origin = this.#service.origin(this.#random)
    const socket = io(origin, { transports: ['websocket'], forceNew: true, reconnection: false })
    let left = count
    const over = new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      socket.once('disconnect', () => resolve())
      socket.once('connect_error', reject)
    })
    socket.onAny((event: string, { id, runId }: { id?: string; runId: string }) => {
      if (event === 'session.suspended' || (event === 'agent.error' && id === undefined))
        this.#connection.abort()
      if (id === undefined || left <= 0) return
      left = this.#add({ id, runId }, left) ? left - 1 : 0
      if (left === 0) this.#connection.abort()
    })
    try {
      socket.once('connect', () => {
        const session = { kind: 'agent', name: 'talker', sessionId: this.#sessionId, after: this.#after }
        socket.emit('session.watch', session, ({ code }: { code?: string }) => {
          if (code !== undefined) this.#connection.abort()
        })
      })
      await over
    } finally {
      socket.disconnect()
    }
  }
}
