import { randomId, ZERO_USAGE } from '@svc/contract'
import { createSseStream, logFault, onClientLeft, SSE_HEARTBEAT } from '@svc/surface'
import { CLOSE, FrameRate, FrameSocket, onExpiry, type WebSocket } from '@svc/surface/sockets'
import type { FastifyRequest } from 'fastify'
import {
  OPENAI_ERR_BINARY_FRAME,
  OPENAI_ERR_CONNECTION_LIMIT,
  OPENAI_ERR_TOKEN_EXPIRED,
  OPENAI_ERR_TOO_MANY_EVENTS
} from '../errors.ts'
import { toParameters } from '../responses/create-response.ts'
import { ResponseBuilder } from '../responses/response-builder.ts'
import { admitRequest, findPlace, requirePrevious } from '../responses/response-place.ts'
import { toItems, type ResponseBody } from '../responses/response-schemas.ts'
import { LINES, ResponseStream } from '../responses/response-stream.ts'
import { viewIn } from '../responses/run-items.ts'
import { toResponseId, type Asking } from '../responses/start-run.ts'
import type { Surface } from '../surface.ts'
import { toResponseObject, toResponseUsage } from '../wire/response-object.ts'
import { KeptResponses } from './kept-responses.ts'
import { readClientEvent, toErrorEvent, toSteerFailure } from './socket-events.ts'

/** Frames of a connection in a second. */
const PER_SECOND = 100
/** Frames that wait for the responses before theirs. */
const MAX_WAITING = 16
/** Milliseconds that a connection lasts. */
const LIFETIME = 3_600_000

/**
 * A WebSocket of the Responses API: each `response.create` is answered with the events of its response, one after the other. When the client
 * leaves, the response under way is canceled as its stream over HTTP would be.
 */
export class ResponseConnection {
  readonly #surface: Surface
  readonly #request: FastifyRequest
  readonly #socket: FrameSocket
  readonly #kept: KeptResponses
  readonly #rate = new FrameRate(PER_SECOND)
  readonly #waiting: Buffer[] = []
  readonly #timers: (NodeJS.Timeout | undefined)[]
  #bytes = 0
  #isBusy = false
  // Ends the connection, in which no further response begins.
  #end: (() => void) | undefined
  // A frame has been sent in part.
  #isPartial = false
  // Tells the run under way, and its stream, that the client has left.
  #leave: (() => void) | undefined
  #cancel: (() => void) | undefined

  constructor(surface: Surface, ws: WebSocket, request: FastifyRequest) {
    this.#surface = surface
    this.#request = request
    this.#socket = new FrameSocket(ws, surface.heartbeat)
    this.#kept = new KeptResponses(surface.bodyLimit)
    this.#timers = [
      setTimeout(() => this.#close(new OPENAI_ERR_CONNECTION_LIMIT(), CLOSE.restart), LIFETIME).unref(),
      onExpiry(request.caller, () => this.#close(new OPENAI_ERR_TOKEN_EXPIRED(), CLOSE.unauthorized))
    ]
    ws.on('message', (frame: Buffer, isBinary) => this.#take(frame, isBinary))
    ws.once('close', () => this.#left())
  }

  #take(frame: Buffer, isBinary: boolean): void {
    if (!this.#socket.isOpen) return
    if (isBinary) return this.#close(new OPENAI_ERR_BINARY_FRAME(), CLOSE.unsupported)
    this.#bytes += frame.byteLength
    const isFull = this.#waiting.length >= MAX_WAITING || this.#bytes > this.#surface.bodyLimit
    if (!this.#rate.take() || isFull) return this.#close(new OPENAI_ERR_TOO_MANY_EVENTS(), CLOSE.refused)
    this.#waiting.push(frame)
    if (!this.#isBusy) void this.#serve()
  }

  async #serve(): Promise<void> {
    this.#isBusy = true
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      this.#bytes -= frame.byteLength
      if (this.#end === undefined && this.#socket.isOpen) await this.#answer(frame)
    }
    this.#isBusy = false
    this.#end?.()
  }

  // Closes the connection with an error, after the response under way.
  #close(err: Error, code: number): void {
    this.#waiting.length = 0
    this.#end ??= () => this.#socket.close(code, this.#fail(err))
    if (!this.#isBusy) this.#end()
  }

  /** Answers a client event. Never rejects. */
  async #answer(frame: Buffer): Promise<void> {
    let previousId: string | null | undefined
    try {
      const event = readClientEvent(frame, this.#surface.jsonDepth)
      if (event.type === 'response.steer') return this.#send(toSteerFailure(event))
      previousId = event.body.previous_response_id
      if (event.generates) await this.#respond(event.body, frame.byteLength)
      else await this.#prepare(event.body, frame.byteLength)
    } catch (err) {
      // A response that could not be followed is not kept.
      if (typeof previousId === 'string') this.#kept.delete(previousId)
      this.#leave?.()
      if (this.#isPartial) return this.#socket.close(CLOSE.failed, toErrorEvent(err).error.code)
      this.#fail(err)
    } finally {
      this.#leave = this.#cancel = undefined
    }
  }

  async #respond(body: ResponseBody, bytes: number): Promise<void> {
    const surface = this.#surface
    const asking = this.#ask(body)
    const place = await findPlace(surface, asking)
    const asked = { id: toResponseId(place), parameters: toParameters(body) }
    const builder = new ResponseBuilder(viewIn(surface, this.#request), asked)
    const projection = new ResponseStream(builder, asked.id, { framing: LINES })
    const { runs, heartbeat } = surface
    await this.#sendAll(createSseStream(runs, place.runId, { heartbeat, projection }))
    const previousId = body.previous_response_id
    if (builder.status === 'failed' && previousId) this.#kept.delete(previousId)
    this.#keep(builder, body, place.isWhole, bytes + projection.size)
  }

  /** Prepares a response without a run, which others may follow. */
  async #prepare(body: ResponseBody, bytes: number): Promise<void> {
    const { previous_response_id: previousId, model } = body
    const asking = this.#ask(body)
    await admitRequest(this.#surface, asking)
    const before = previousId ? this.#kept.find(previousId) : undefined
    if (previousId && before === undefined) await requirePrevious(this.#surface, previousId, asking)
    const id = `resp_${randomId()}`
    const responseId = before === undefined ? (previousId ?? undefined) : before.responseId
    const items = [...(before?.items ?? []), ...toItems(body.input)]
    const isWhole = before === undefined ? !previousId : before.isWhole
    this.#kept.add(id, { responseId, items, isWhole }, this.#kept.sizeOf(previousId ?? '') + bytes)
    const now = Math.floor(Date.now() / 1_000)
    const parameters = toParameters(body)
    const events = [
      ['created', 'in_progress'],
      ['in_progress', 'in_progress'],
      ['completed', 'completed']
    ] as const
    events.forEach(([event, status], number) => {
      const isOver = status === 'completed'
      const state = {
        id,
        created_at: now,
        completed_at: isOver ? now : null,
        status,
        model,
        previous_response_id: previousId ?? null,
        conversation: null,
        output: [],
        usage: isOver ? toResponseUsage(ZERO_USAGE, ZERO_USAGE) : null,
        error: null,
        incomplete_details: null,
        metadata: {}
      }
      const response = toResponseObject(state, parameters)
      this.#send({ type: `response.${event}`, sequence_number: number, response })
    })
  }

  #ask(body: ResponseBody): Asking {
    const { caller, headers, log } = this.#request
    // The key of the handshake is that of no response.
    const { 'idempotency-key': _, ...rest } = headers
    const follow: Asking['follow'] = (run, onDisconnect) => {
      this.#leave = onClientLeft(log, run, onDisconnect)
      if (!this.#socket.isOpen) this.#left()
    }
    return { body, caller, headers: rest, log, kept: this.#kept, follow }
  }

  // Keeps what a session does not: all that was said, or that the response is not stored.
  #keep({ id, status, output }: ResponseBuilder, body: ResponseBody, isWhole: boolean, bytes: number): void {
    if (status !== 'completed' && status !== 'incomplete') return
    if (!isWhole) {
      if (body.store === false) this.#kept.add(id, { responseId: id, items: [], isWhole }, 0)
      return
    }
    const previousId = body.previous_response_id ?? ''
    const said = output as readonly object[]
    const items = [...(this.#kept.find(previousId)?.items ?? []), ...toItems(body.input), ...said]
    this.#kept.add(id, { responseId: id, items, isWhole }, this.#kept.sizeOf(previousId) + bytes)
  }

  // A line is a frame; what is too large for one chunk of the stream is sent in pieces.
  async #sendAll(stream: ReadableStream<string>): Promise<void> {
    const reader = stream.getReader()
    this.#cancel = () => void reader.cancel()
    if (!this.#socket.isOpen) this.#cancel()
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      if (value === SSE_HEARTBEAT) continue
      let begin = 0
      for (let end = value!.indexOf('\n'); end >= 0; end = value!.indexOf('\n', begin)) {
        this.#socket.send(value!.slice(begin, end))
        begin = end + 1
      }
      this.#isPartial = begin < value!.length || (begin === 0 && this.#isPartial)
      if (begin < value!.length) this.#socket.send(value!.slice(begin), false)
      await this.#socket.untilWritable()
    }
  }

  #send(event: object): void {
    this.#socket.send(JSON.stringify(event))
  }

  // Sends an error, and returns its code.
  #fail(err: unknown): string {
    const event = toErrorEvent(err)
    const { status: statusCode, error } = event
    const { code } = error
    logFault(this.#request.log, 'event', { code, statusCode }, err, this.#request)
    this.#send(event)
    return code
  }

  #left(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#waiting.length = 0
    this.#leave?.()
    this.#cancel?.()
    this.#leave = this.#cancel = undefined
  }
}
