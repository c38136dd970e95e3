import { RunView, ZERO_USAGE, type NumberedPart, type PartOf } from '@svc/contract'
import { toModel } from '../models/model-name.ts'
import type { ItemEvent, LifecycleEvent, ResponseEvent } from '../wire/response-events.ts'
import {
  toResponseObject,
  toResponseUsage,
  type ResponseObject,
  type ResponseParameters,
  type ResponseState,
  type ResponseStatus
} from '../wire/response-object.ts'
import type { CallItems } from './call-items.ts'
import { toResponseId } from './start-run.ts'
import { BARE, RunItems, type ResponseView } from './run-items.ts'

/** A response that a request has just asked for. */
export interface AskedResponse {
  readonly id: string
  readonly parameters: ResponseParameters
}

type Logged<T extends NumberedPart['type']> = NumberedPart & PartOf<T>
type Unnumbered = LifecycleEvent | ItemEvent

const INCOMPLETE: Partial<Record<PartOf<'finish'>['finishReason'], string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  'max-steps': 'max_messages'
}

/**
 * Makes the events of the responses of a run from its parts, in order. A response ends where the run ends, or where it only waits for
 * inputs that the response asks for; the next part begins the next response. While inputs of the response before are not answered, it goes
 * on: their answers may come one by one, over any surface. All of it depends on the log only, so that each reader gets the same, except that the
 * reply to a request repeats its parameters.
 */
export class ResponseBuilder {
  /** The run so far. */
  readonly run = new RunView()
  readonly #view: ResponseView
  readonly #asked: AskedResponse | undefined
  #items: RunItems
  // What the response before asked for.
  #earlier: ReadonlySet<string> = new Set()
  // Where the response begins, and the one before it.
  #after = 0
  #before: string | null = null
  #createdAt = 0
  #completedAt: number | undefined
  #status: ResponseStatus = 'in_progress'
  #error: ResponseObject['error'] = null
  #reason: string | undefined
  #sequence = 0
  #usageBefore = ZERO_USAGE
  #isOver = false

  /** @param asked the response of the request that is answered, if it is */
  constructor(view: ResponseView = BARE, asked?: AskedResponse) {
    this.#view = view
    this.#asked = asked
    this.#items = new RunItems('', '', view)
  }

  /** The id of the response that the last part belongs to; '' before the first one. */
  get id(): string {
    const { start } = this.run
    return start === undefined ? '' : toResponseId({ runId: start.runId, after: this.#after })
  }

  /** True if the response is over. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** True if the response is over, and the run has not ended: the next part begins the next one. */
  get isPaused(): boolean {
    return this.#isOver && this.run.end === undefined
  }

  /** True if the response before asked for something that is not answered yet. */
  get hasEarlier(): boolean {
    const { pending } = this.run
    return this.#earlier.size > 0 && [...this.#earlier].some((inputId) => pending.has(inputId))
  }

  /** The calls of the run, with what it waits for. */
  get calls(): CallItems {
    return this.#items.calls
  }

  /** The items of the response so far that count. */
  get output(): ResponseObject['output'] {
    return this.#items.output
  }

  /** The number of the next event, and the place of the message under way, for an increment of it; undefined if there is none. */
  extend(seq: number, text: string): { sequence: number; index: number; id: string } | undefined {
    if (this.#isOver || this.#status === 'queued') return undefined
    const place = this.#items.extend(text)
    if (place === undefined) return undefined
    this.run.seq = seq
    return { sequence: this.#sequence++, index: place.index, id: place.item.id }
  }

  /** The response so far. */
  build(): ResponseObject {
    const { kind = 'agent', name = '', sessionId, afterTurn, metadata } = this.run.start ?? {}
    const { id } = this
    const turnBefore = afterTurn ? toResponseId({ runId: afterTurn, after: 0 }) : null
    const state: ResponseState = {
      id,
      created_at: this.#createdAt,
      completed_at: this.#completedAt ?? null,
      status: this.#status,
      model: toModel(kind, name),
      previous_response_id: this.#after === 0 ? turnBefore : this.#before,
      conversation: sessionId === undefined ? null : { id: sessionId },
      output: this.#items.output,
      usage: this.#isOver ? toResponseUsage(this.run.usage, this.#usageBefore) : null,
      error: this.#error,
      incomplete_details: this.#reason === undefined ? null : { reason: this.#reason },
      metadata: metadata ?? {}
    }
    return toResponseObject(state, this.#asked?.id === id ? this.#asked.parameters : undefined)
  }

  /** Takes the next part; returns the events of the response that it belongs to. */
  add(part: NumberedPart): ResponseEvent[] {
    const events = this.isPaused ? this.#number(this.#beginNext(part)) : []
    this.run.add(part)
    if (this.#status === 'queued' && part.type !== 'start') {
      this.#status = 'in_progress'
      events.push(...this.#number([this.#lifecycle('response.in_progress')]))
    }
    events.push(...this.#number(this.#toEvents(part)))
    if (!this.#isOver && part.type !== 'text' && this.run.isWaiting && !this.hasEarlier)
      events.push(...this.#number(this.#end('completed', part, this.#items.pause())))
    return events
  }

  #number(events: readonly Unnumbered[]): ResponseEvent[] {
    return events.map(
      ({ type, ...event }) => ({ type, sequence_number: this.#sequence++, ...event }) as ResponseEvent
    )
  }

  #toEvents(part: NumberedPart): Unnumbered[] {
    if (part.source?.length) return this.#items.add(part)
    switch (part.type) {
      case 'start':
        return this.#begin(part)
      case 'finish':
        return this.#finish(part)
      case 'error': {
        const { code, message } = part.error
        this.#error = { type: 'server_error', code, message, param: null }
        return this.#end('failed', part, this.#items.end('incomplete'))
      }
      default:
        return this.#items.add(part)
    }
  }

  #begin(part: Logged<'start'>): LifecycleEvent[] {
    this.#items = new RunItems(part.runId, part.name, this.#view)
    this.#createdAt = toSeconds(part.at)
    if (part.queued) this.#status = 'queued'
    return [
      this.#lifecycle('response.created'),
      this.#lifecycle(part.queued ? 'response.queued' : 'response.in_progress')
    ]
  }

  #beginNext({ at }: NumberedPart): LifecycleEvent[] {
    this.#before = this.id
    this.#earlier = new Set(this.run.pending.keys())
    this.#after = this.run.seq
    this.#createdAt = toSeconds(at)
    this.#completedAt = undefined
    this.#status = 'in_progress'
    this.#isOver = false
    this.#sequence = 0
    this.#items.beginResponse()
    this.#usageBefore = this.run.usage
    return [this.#lifecycle('response.created'), this.#lifecycle('response.in_progress')]
  }

  #finish(part: Logged<'finish'>): Unnumbered[] {
    const { finishReason, structured, seq } = part
    if (finishReason === 'canceled') return this.#end('cancelled', part, this.#items.end('incomplete'))
    this.#reason = INCOMPLETE[finishReason]
    const status = this.#reason === undefined ? 'completed' : 'incomplete'
    // A runnable that has said nothing has its value as its text.
    return this.#end(status, part, [...this.#items.sayValue(structured, seq), ...this.#items.end(status)])
  }

  #end(status: ResponseStatus, { at }: NumberedPart, events: ItemEvent[]): Unnumbered[] {
    this.#isOver = true
    this.#status = status
    this.#completedAt = toSeconds(at)
    // The protocol has no event for a canceled response.
    const last = status === 'completed' || status === 'failed' ? status : 'incomplete'
    return [...events, this.#lifecycle(`response.${last}`)]
  }

  #lifecycle(type: LifecycleEvent['type']): LifecycleEvent {
    return { type, response: this.build() }
  }
}

function toSeconds(at: number): number {
  return Math.floor(at / 1_000)
}
