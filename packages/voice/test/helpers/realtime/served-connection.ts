import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate as tick } from 'node:timers/promises'
import { decodeTones, ToneEncoder } from '../../../src/testing/tone-codec.ts'
import type { WebSocket } from 'ws'
import type { RealtimeServerOptions } from './realtime-server.ts'
import { ServedMicrophone } from './served-microphone.ts'

/** Hz. */
const RATE = 24_000

// oxlint-disable typescript/no-explicit-any -- the fields of the protocol are checked by what reads them

/** An event of the protocol. */
export interface WireEvent {
  readonly type: string
  readonly [field: string]: any
}

/** An item of a conversation, as the model has it. */
export interface ServedItem {
  readonly id: string
  readonly type: string
  readonly role?: string
  /** The words of a message. */
  text?: string
  readonly call_id?: string
  readonly name?: string
  readonly arguments?: string
  readonly output?: string
  /** Milliseconds of audio. */
  ms?: number
}

/** What a response is asked for. */
export interface Asked {
  /** The last words of the user. */
  readonly text: string
  readonly items: readonly ServedItem[]
  readonly connection: number
  /** Counts the responses of all connections. */
  readonly instructions: string
  /** The instructions of this response alone. */
  readonly own: string | undefined
}

/** A response. */
export interface Reply {
  readonly text?: string
  readonly calls?: readonly { readonly callId: string; readonly name: string; readonly args: string }[]
  /** Never done. */
  readonly hangs?: boolean
  readonly fails?: { readonly type: string; readonly code: string }
}

interface ResponseOptions {
  readonly instructions?: string
  readonly output_modalities?: readonly string[]
}

let ids = 0
const newId = (prefix: string) => `${prefix}_${++ids}`

/** One connection to the server: a session, its conversation, one response at a time. */
export class ServedConnection {
  readonly index: number
  readonly headers: IncomingMessage['headers']
  readonly received: WireEvent[] = []
  readonly items: ServedItem[] = []
  /** Errors that were sent. */
  readonly errors: string[] = []
  session: Record<string, any> = {}
  /** Responses that are in progress at the most, at any time. */
  responses = 0
  readonly #ws: WebSocket
  readonly #options: RealtimeServerOptions
  readonly #microphone: ServedMicrophone
  #active: { readonly id: string; isCanceled: boolean } | undefined

  constructor(ws: WebSocket, request: IncomingMessage, index: number, options: RealtimeServerOptions) {
    this.#ws = ws
    this.index = index
    this.headers = request.headers
    this.#options = options
    this.#microphone = new ServedMicrophone(RATE, {
      detection: () => this.session['audio']?.input?.turn_detection,
      send: (event) => this.send(event),
      commit: (id, samples) => this.#commit(id, samples)
    })
    ws.on('message', (data) => this.#take(data as Buffer))
    this.send({ type: 'session.created', session: { id: newId('sess') } })
  }

  send(event: WireEvent): void {
    const whole = { event_id: newId('event'), ...event }
    const sent = this.#options.tamper?.(whole, this) ?? [whole]
    if (sent === 'cut') return this.cut()
    for (const each of sent) {
      const frame = typeof each === 'string' || Buffer.isBuffer(each) ? each : JSON.stringify(each)
      if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(frame)
    }
  }

  /** Ends the connection without a word. */
  cut(): void {
    this.#ws.terminate()
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Resolves once the client has taken all events so far. */
  async settled(): Promise<void> {
    this.#ws.ping()
    await once(this.#ws, 'pong')
  }

  /** Stops reading what the client sends. */
  pause(): void {
    this.#ws.pause()
  }

  close(code: number): void {
    this.#ws.close(code)
  }

  #take(data: Buffer): void {
    const event = JSON.parse(data.toString()) as WireEvent
    this.received.push(event)
    const isTaken = this.#options.receive?.(event, this) ?? true
    if (isTaken === 'cut') this.cut()
    else if (isTaken) this.#handle(event)
  }

  #handle(event: WireEvent): void {
    switch (event.type) {
      case 'session.update':
        this.session = mergeDeep(this.session, event['session'] as Record<string, any>)
        return this.send({ type: 'session.updated', session: this.session })
      case 'input_audio_buffer.append':
        return this.#microphone.append(toSamples(event['audio'] as string))
      case 'input_audio_buffer.commit':
        if (!this.#microphone.commit()) this.#refuse(event, 'input_audio_buffer_commit_empty')
        return
      case 'input_audio_buffer.clear':
        return this.#microphone.clear()
      case 'conversation.item.create':
        return this.#create(event)
      case 'conversation.item.truncate':
        return this.#truncate(event)
      case 'response.create':
        if (this.#active !== undefined) return this.#refuse(event, 'conversation_already_has_active_response')
        return void this.#respond(event['response'] as ResponseOptions | undefined)
      case 'response.cancel':
        if (this.#active === undefined) return this.#refuse(event, 'response_cancel_not_active')
        this.#active.isCanceled = true
        return
      default:
        return this.#refuse(event, 'unknown_event')
    }
  }

  #refuse(event: WireEvent, code: string): void {
    this.errors.push(code)
    const eventId = event['event_id'] as string | undefined
    this.send({
      type: 'error',
      error: { type: 'invalid_request_error', code, message: `bad: ${code}`, event_id: eventId ?? null }
    })
  }

  #create({ item, previous_item_id: after }: WireEvent): void {
    const { content, id: given, ...rest } = item as { id?: string; content?: { text?: string }[] }
    const id = given ?? newId('item')
    const [part] = content ?? []
    const added = { ...rest, id, ...(part && { text: part.text ?? '' }) } as ServedItem
    const at = after === 'root' ? 0 : this.items.findIndex((each) => each.id === after) + 1
    this.items.splice(
      after === undefined || (at === 0 && after !== 'root') ? this.items.length : at,
      0,
      added
    )
    this.send({ type: 'conversation.item.added', item: { id } })
  }

  #commit(id: string, samples: Int16Array): void {
    const previous = this.items.at(-1)?.id ?? null
    const item: ServedItem = { id, type: 'message', role: 'user', text: decodeTones(samples, RATE) }
    this.items.push(item)
    this.send({ type: 'input_audio_buffer.committed', item_id: id, previous_item_id: previous })
    this.send({ type: 'conversation.item.added', item: { id } })
    if (this.#options.respondsByItself) void this.#respond()
    setImmediate(() =>
      this.send({
        type: 'conversation.item.input_audio_transcription.completed',
        item_id: id,
        content_index: 0,
        transcript: item.text
      })
    )
  }

  #truncate(event: WireEvent): void {
    const { item_id: id, audio_end_ms: ms } = event
    const item = this.items.find((each) => each.id === id)
    if (item?.ms === undefined || ms > item.ms) return this.#refuse(event, 'invalid_truncation')
    item.text = item.text?.slice(0, Math.floor((item.text.length * (ms as number)) / item.ms)) ?? ''
    item.ms = ms as number
    this.send({ type: 'conversation.item.truncated', item_id: id, content_index: 0, audio_end_ms: ms })
  }

  async #respond({ instructions: own, output_modalities: modalities }: ResponseOptions = {}): Promise<void> {
    const response = (this.#active = { id: newId('resp'), isCanceled: false })
    this.responses++
    const { id } = response
    this.send({ type: 'response.created', response: { id, status: 'in_progress' } })
    const {
      text,
      calls = [],
      hangs,
      fails
    } = this.#options.reply({
      text: this.items.findLast(({ role }) => role === 'user')?.text ?? '',
      items: this.items,
      connection: this.index,
      instructions: (this.session['instructions'] as string | undefined) ?? '',
      own
    })
    await tick()
    if (text !== undefined && modalities?.[0] === 'text') this.#write(id, text)
    else if (text !== undefined) await this.#speak(response, text)
    for (const call of response.isCanceled ? [] : calls) this.#call(id, call)
    while (hangs && !response.isCanceled && this.#ws.readyState === this.#ws.OPEN) await tick()
    this.#active = undefined
    const status = response.isCanceled ? 'cancelled' : fails ? 'failed' : 'completed'
    this.send({
      type: 'response.done',
      response: {
        id,
        status,
        ...(fails && { status_details: { type: 'failed', error: fails } }),
        usage: { input_tokens: 10, output_tokens: 5, input_token_details: { cached_tokens: 4 } }
      }
    })
  }

  async #speak({ id: responseId, ...response }: { id: string; isCanceled: boolean }, text: string) {
    const active = this.#active
    const item: ServedItem = { id: newId('item'), type: 'message', role: 'assistant', text: '', ms: 0 }
    const of = { response_id: responseId, item_id: item.id, output_index: 0, content_index: 0 }
    this.items.push(item)
    this.send({ type: 'response.output_item.added', ...of, item: { id: item.id } })
    this.send({ type: 'response.content_part.added', ...of })
    const encoder = new ToneEncoder(RATE)
    for (const word of text.match(/\S+\s*/g) ?? []) {
      if (active?.isCanceled ?? response.isCanceled) return
      const samples = encoder.encode(word)
      item.text += word
      item.ms! += (samples.length * 1000) / RATE
      this.send({ type: 'response.output_audio_transcript.delta', ...of, delta: word })
      this.send({ type: 'response.output_audio.delta', ...of, delta: toBase64(samples) })
      await tick()
    }
    this.send({ type: 'response.output_audio.done', ...of })
    this.send({ type: 'response.output_audio_transcript.done', ...of, transcript: text })
    this.send({ type: 'response.output_item.done', ...of, item: { id: item.id } })
  }

  #write(responseId: string, text: string): void {
    const id = newId('item')
    const of = { response_id: responseId, item_id: id, output_index: 0, content_index: 0 }
    this.items.push({ id, type: 'message', role: 'assistant', text })
    this.send({ type: 'response.output_text.delta', ...of, delta: text })
    this.send({ type: 'response.output_text.done', ...of, text })
  }

  #call(responseId: string, { callId, name, args }: NonNullable<Reply['calls']>[number]): void {
    const id = newId('item')
    this.items.push({ id, type: 'function_call', call_id: callId, name, arguments: args })
    this.send({
      type: 'response.function_call_arguments.done',
      response_id: responseId,
      item_id: id,
      call_id: callId,
      name,
      arguments: args
    })
  }
}

function toSamples(base64: string): Int16Array {
  const bytes = Buffer.from(base64, 'base64')
  return Int16Array.from({ length: bytes.length >> 1 }, (_, at) => bytes.readInt16LE(at * 2))
}

function toBase64({ buffer, byteOffset, byteLength }: Int16Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

// An update changes what it names.
function mergeDeep(first: Record<string, any>, second: Record<string, any>): Record<string, any> {
  const merged = { ...first }
  for (const [key, value] of Object.entries(second)) {
    const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
    merged[key] = isRecord ? mergeDeep((first[key] ?? {}) as Record<string, any>, value) : value
  }
  return merged
}
