import { logFault } from '@svc/surface'
import { CLOSE, FrameRate, FrameSocket, onExpiry, type WebSocket } from '@svc/surface/sockets'
import type { FastifyRequest } from 'fastify'
import {
  OPENAI_ERR_BINARY_FRAME,
  OPENAI_ERR_CONNECTION_LIMIT,
  OPENAI_ERR_TOKEN_EXPIRED,
  OPENAI_ERR_TOO_MANY_EVENTS,
  OPENAI_ERR_TOO_MANY_STREAMS
} from '../errors.ts'
import type { Surface } from '../surface.ts'
import { KeptResponses } from './kept-responses.ts'
import { ResponseLane, type LaneConnection, type QueuedCreate } from './response-lane.ts'
import { SharedFrames } from './shared-frames.ts'
import { readCreate, readFrame, streamIdOf, toErrorEvent } from './socket-events.ts'
import { HeldSteers, isSteering, readSteer, toSteerFailure, type SentSteer } from './steering.ts'

/** Frames of a connection in a second. */
const PER_SECOND = 100
/** Frames that wait for the responses before theirs. */
const MAX_WAITING = 16
/** Streams with a response under way. */
const MAX_LANES = 16
/** Responses of which it is known that they are over. */
const MAX_ENDED = 16
/** Milliseconds that a connection lasts. */
const LIFETIME = 3_600_000

/**
 * A WebSocket of the Responses API: each `response.create` is answered with the events of its response. Those with the same `stream_id`, or
 * with none, come one after the other. When the client leaves, the responses under way are canceled as their streams over HTTP would be.
 */
export class ResponseConnection implements LaneConnection {
  readonly surface: Surface
  readonly request: FastifyRequest
  readonly frames: SharedFrames
  readonly kept: KeptResponses
  readonly steers: HeldSteers
  readonly #socket: FrameSocket
  readonly #rate = new FrameRate(PER_SECOND)
  readonly #lanes = new Map<string | undefined, ResponseLane>()
  readonly #ended: string[] = []
  readonly #timers: (NodeJS.Timeout | undefined)[]
  #waiting = 0
  #bytes = 0
  #isEnding = false

  constructor(surface: Surface, ws: WebSocket, request: FastifyRequest) {
    this.surface = surface
    this.request = request
    this.#socket = new FrameSocket(ws, surface.heartbeat)
    this.frames = new SharedFrames(this.#socket)
    this.kept = new KeptResponses(surface.bodyLimit)
    this.steers = new HeldSteers(surface.bodyLimit)
    this.#timers = [
      setTimeout(() => void this.#close(new OPENAI_ERR_CONNECTION_LIMIT(), CLOSE.restart), LIFETIME).unref(),
      onExpiry(request.caller, () => void this.#close(new OPENAI_ERR_TOKEN_EXPIRED(), CLOSE.unauthorized))
    ]
    ws.on('message', (frame: Buffer, isBinary) => this.#take(frame, isBinary))
    ws.once('close', () => this.#left())
  }

  isOpen(): boolean {
    return this.#socket.isOpen
  }

  isEnding(): boolean {
    return this.#isEnding
  }

  begun({ bytes, steers }: QueuedCreate): void {
    if (steers !== undefined) return
    this.#waiting--
    this.#bytes -= bytes
  }

  ended(id: string | undefined): void {
    if (id !== undefined) this.#ended.push(id)
    if (this.#ended.length > MAX_ENDED) this.#ended.shift()
  }

  idle({ streamId }: ResponseLane): void {
    this.#lanes.delete(streamId)
  }

  fail(err: unknown, streamId: string | undefined): string {
    const event = toErrorEvent(err)
    const { status: statusCode, error } = event
    const { code } = error
    logFault(this.request.log, 'event', { code, statusCode }, err, this.request)
    this.frames.send(event, streamId)
    return code
  }

  abort(err: unknown): void {
    this.#socket.close(CLOSE.failed, toErrorEvent(err).error.code)
  }

  #take(frame: Buffer, isBinary: boolean): void {
    if (!this.#socket.isOpen || this.#isEnding) return
    if (isBinary) return void this.#close(new OPENAI_ERR_BINARY_FRAME(), CLOSE.unsupported)
    const isFull = this.#waiting >= MAX_WAITING || this.#bytes + frame.byteLength > this.surface.bodyLimit
    if (!this.#rate.take() || isFull) return void this.#close(new OPENAI_ERR_TOO_MANY_EVENTS(), CLOSE.refused)
    let value: unknown
    try {
      value = readFrame(frame, this.surface.jsonDepth)
    } catch (err) {
      return this.#queue(undefined, frame.byteLength, () => {
        throw err
      })
    }
    if (isSteering(value)) return this.#steer(value, frame.byteLength)
    this.#queue(streamIdOf(value), frame.byteLength, () => readCreate(value))
  }

  #queue(streamId: string | undefined, bytes: number, read: QueuedCreate['read']): void {
    let lane = this.#lanes.get(streamId)
    if (lane === undefined && this.#lanes.size >= MAX_LANES)
      return void this.fail(new OPENAI_ERR_TOO_MANY_STREAMS(MAX_LANES), streamId)
    if (lane === undefined) this.#lanes.set(streamId, (lane = new ResponseLane(this, streamId)))
    this.#waiting++
    this.#bytes += bytes
    lane.add({ bytes, read })
  }

  #steer(sent: SentSteer, bytes: number): void {
    const target = [...this.#lanes.values()].find(
      ({ responseId }) => responseId === sent.previous_response_id
    )
    const steer = readSteer(sent, bytes)
    if (steer === undefined) return this.frames.send(toSteerFailure(sent, 'invalid_input'), target?.streamId)
    if (target !== undefined) return target.steer(steer)
    const isOver = this.#ended.includes(steer.previous_response_id)
    const code = isOver ? 'response_already_completed' : 'response_not_found'
    this.frames.send(toSteerFailure(sent, code), undefined)
  }

  // Closes the connection with an error, after the responses under way.
  async #close(err: Error, code: number): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    for (const lane of this.#lanes.values()) await lane.untilIdle()
    this.#socket.close(code, this.fail(err, undefined))
  }

  #left(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    for (const lane of this.#lanes.values()) lane.left()
    this.frames.close()
  }
}
