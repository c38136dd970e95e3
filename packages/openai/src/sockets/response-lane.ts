import { randomId, ZERO_USAGE, type Awaitable } from '@svc/contract'
import { createSseStream, onClientLeft, SSE_HEARTBEAT } from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import { toParameters } from '../responses/create-response.ts'
import { ResponseBuilder } from '../responses/response-builder.ts'
import { admitRequest, findPlace, requirePrevious } from '../responses/response-place.ts'
import { toItems, type ResponseBody } from '../responses/response-schemas.ts'
import { LINES, ResponseStream } from '../responses/response-stream.ts'
import { viewIn } from '../responses/run-items.ts'
import { toResponseId, type Asking } from '../responses/start-run.ts'
import type { Surface } from '../surface.ts'
import { toResponseObject, toResponseUsage } from '../wire/response-object.ts'
import type { KeptResponses } from './kept-responses.ts'
import type { SharedFrames } from './shared-frames.ts'
import type { CreateEvent } from './socket-events.ts'
import {
  toAccepted,
  toPending,
  toSteeredItems,
  toSteerFailure,
  type AcceptedSteer,
  type HeldSteers
} from './steering.ts'

/** Messages that wait for the end of a response. */
const MAX_STEERS = 16

/** A response that is asked for, once the ones before it have ended. */
export interface QueuedCreate {
  /** Of its frame. */
  readonly bytes: number
  /** @throws what is wrong with it */
  read(): CreateEvent
  /** What it delivers. */
  readonly steers?: readonly AcceptedSteer[]
}

/** What the lanes of a connection share. */
export interface LaneConnection {
  readonly surface: Surface
  readonly request: FastifyRequest
  readonly frames: SharedFrames
  readonly kept: KeptResponses
  readonly steers: HeldSteers
  /** False once the client has left. */
  isOpen(): boolean
  /** True if no further response begins. */
  isEnding(): boolean
  /** A queued response is under way. */
  begun(create: QueuedCreate): void
  /** A response is over. @param id undefined if it did not begin */
  ended(id: string | undefined): void
  /** A lane has nothing more to answer. */
  idle(lane: ResponseLane): void
  /** Sends an error. */
  fail(err: unknown, streamId: string | undefined): void
  /** Closes the connection in the middle of a frame. */
  abort(err: unknown): void
}

/** The responses of a connection that have the same `stream_id`, one after the other. */
export class ResponseLane {
  /** The `stream_id` of its events; undefined if they have none. */
  readonly streamId: string | undefined
  readonly #connection: LaneConnection
  readonly #waiting: QueuedCreate[] = []
  #serving: Promise<void> | undefined
  // The response under way, whether it takes messages, and those that it has.
  #id: string | undefined
  #isSteerable = false
  #steers: AcceptedSteer[] = []
  // Tells the run under way, and its stream, that the client has left.
  #leave: (() => void) | undefined
  #cancel: (() => void) | undefined

  constructor(connection: LaneConnection, streamId: string | undefined) {
    this.#connection = connection
    this.streamId = streamId
  }

  /** The response under way; undefined if there is none. */
  get responseId(): string | undefined {
    return this.#id
  }

  add(create: QueuedCreate): void {
    this.#waiting.push(create)
    this.#serving ??= this.#serve()
  }

  /** Takes a message for the response under way, which the next one delivers. */
  steer(steer: AcceptedSteer): void {
    if (!this.#isSteerable) return this.#send(toSteerFailure(steer, 'steering_not_supported'))
    if (this.#steers.length >= MAX_STEERS || !this.#connection.steers.add(steer))
      return this.#send(toSteerFailure(steer, 'too_many_pending_steers'))
    this.#steers.push(steer)
    this.#send(toAccepted(steer))
  }

  /** Resolves once no response is under way. */
  untilIdle(): Awaitable<void> {
    return this.#serving
  }

  /** The client has left. */
  left(): void {
    this.#waiting.length = 0
    this.#leave?.()
    this.#cancel?.()
    this.#leave = this.#cancel = undefined
  }

  async #serve(): Promise<void> {
    const connection = this.#connection
    for (let create = this.#waiting.shift(); create !== undefined; create = this.#waiting.shift()) {
      connection.begun(create)
      if (!connection.isEnding() && connection.isOpen()) await this.#answer(create)
      else this.#refuse(create.steers)
      connection.ended(this.#id)
      this.#id = undefined
    }
    this.#serving = undefined
    connection.idle(this)
  }

  /** Answers a client event. Never rejects. */
  async #answer({ read, bytes, steers = [] }: QueuedCreate): Promise<void> {
    const connection = this.#connection
    let previousId: string | null | undefined
    try {
      const { body, generates } = read()
      previousId = body.previous_response_id
      if (generates) await this.#respond(body, bytes)
      else await this.#prepare(body, bytes)
    } catch (err) {
      // A response that could not be followed is not kept.
      if (typeof previousId === 'string') connection.kept.delete(previousId)
      this.#leave?.()
      if (connection.frames.isPartial(this)) return connection.abort(err)
      if (this.#id !== undefined || steers.length === 0) connection.fail(err, this.streamId)
      else
        for (const steer of steers)
          this.#send(toSteerFailure(steer, 'successor_creation_failed', (err as Error).message))
    } finally {
      connection.steers.remove(steers)
      this.#leave = this.#cancel = undefined
      // A response that failed has no next one by itself.
      this.#isSteerable = false
      this.#refuse(this.#steers)
      this.#steers = []
    }
  }

  async #respond(body: ResponseBody, bytes: number): Promise<void> {
    const { surface, request, kept, steers } = this.#connection
    const asking = this.#ask(body)
    const place = await findPlace(surface, asking)
    const asked = { id: toResponseId(place), parameters: toParameters(body) }
    this.#id = asked.id
    this.#isSteerable = !body.conversation
    if (body.previous_response_id) this.#steers = [...steers.resume(body.previous_response_id)]
    const builder = new ResponseBuilder(viewIn(surface, request), asked)
    const projection = new ResponseStream(builder, asked.id, { framing: LINES })
    const { runs, heartbeat } = surface
    await this.#sendAll(createSseStream(runs, place.runId, { heartbeat, projection }))
    const previousId = body.previous_response_id
    if (builder.status === 'failed' && previousId) kept.delete(previousId)
    this.#keep(builder, body, place.isWhole, bytes + projection.size)
    this.#isSteerable = false
    const isOver = builder.status === 'completed' || builder.status === 'incomplete'
    if (!isOver || this.#steers.length === 0) return
    if (builder.isPaused) this.#suspend(builder, asked.id)
    else this.#deliver(body, asked.id)
  }

  // The request that continues the response has its messages.
  #suspend(builder: ResponseBuilder, id: string): void {
    const { steers } = this.#connection
    for (const steer of this.#steers) if (!steer.isPending) this.#send(toPending(steer, builder))
    const pending = this.#steers.map((steer) => ({ ...steer, isPending: true }))
    this.#steers = []
    this.#refuse(steers.suspend(id, pending))
  }

  // The next response has the settings of the one before.
  #deliver(body: ResponseBody, previous_response_id: string): void {
    const steers = this.#steers
    this.#steers = []
    const input = toSteeredItems(steers)
    const next = { ...body, input, previous_response_id }
    const bytes = Buffer.byteLength(JSON.stringify(input))
    this.#waiting.unshift({ bytes, steers, read: () => ({ body: next, generates: true }) })
  }

  #refuse(steers: readonly AcceptedSteer[] = []): void {
    this.#connection.steers.remove(steers)
    for (const steer of steers) this.#send(toSteerFailure(steer, 'response_not_active'))
  }

  /** Prepares a response without a run, which others may follow. */
  async #prepare(body: ResponseBody, bytes: number): Promise<void> {
    const { surface, kept } = this.#connection
    const { previous_response_id: previousId, model } = body
    const asking = this.#ask(body)
    await admitRequest(surface, asking)
    const before = previousId ? kept.find(previousId) : undefined
    if (previousId && before === undefined) await requirePrevious(surface, previousId, asking)
    const id = `resp_${randomId()}`
    const responseId = before === undefined ? (previousId ?? undefined) : before.responseId
    const items = [...(before?.items ?? []), ...toItems(body.input)]
    const isWhole = before === undefined ? !previousId : before.isWhole
    kept.add(id, { responseId, items, isWhole }, kept.sizeOf(previousId ?? '') + bytes)
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
    this.#id = id
  }

  #ask(body: ResponseBody): Asking {
    const { request, kept } = this.#connection
    const { caller, headers, log } = request
    // The key of the handshake is that of no response.
    const { 'idempotency-key': _, ...rest } = headers
    const follow: Asking['follow'] = (run, onDisconnect) => {
      this.#leave = onClientLeft(log, run, onDisconnect)
      if (!this.#connection.isOpen()) this.left()
    }
    return { body, caller, headers: rest, log, kept, follow }
  }

  // Keeps what a session does not: all that was said, or that the response is not stored.
  #keep({ id, status, output }: ResponseBuilder, body: ResponseBody, isWhole: boolean, bytes: number): void {
    const { kept } = this.#connection
    if (status !== 'completed' && status !== 'incomplete') return
    if (!isWhole) {
      if (body.store === false) kept.add(id, { responseId: id, items: [], isWhole }, 0)
      return
    }
    const previousId = body.previous_response_id ?? ''
    const said = output as readonly object[]
    const items = [...(kept.find(previousId)?.items ?? []), ...toItems(body.input), ...said]
    kept.add(id, { responseId: id, items, isWhole }, kept.sizeOf(previousId) + bytes)
  }

  async #sendAll(stream: ReadableStream<string>): Promise<void> {
    const { frames } = this.#connection
    const reader = stream.getReader()
    this.#cancel = () => void reader.cancel()
    if (!this.#connection.isOpen()) this.#cancel()
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read())
      if (value !== SSE_HEARTBEAT) await frames.write(this, value!, this.streamId)
  }

  #send(event: object): void {
    this.#connection.frames.send(event, this.streamId)
  }
}
