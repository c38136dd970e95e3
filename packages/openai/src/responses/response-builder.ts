import { RunView, ZERO_USAGE, type NumberedPart, type PartOf } from '@svc/contract'
import { toRunnableId } from '@svc/surface'
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
import type { OpenText } from './output-items.ts'
import { BARE, RunItems, type ResponseView } from './run-items.ts'

/** A response that a request has just asked for. */
export interface AskedResponse {
  readonly id: string
  readonly parameters: ResponseParameters
}

type Logged<T extends NumberedPart['type']> = NumberedPart & PartOf<T>

/** An event about the response as a whole, which was in this state. */
interface StateEvent {
  readonly type: LifecycleEvent['type']
  readonly state: ResponseState
}

/** An event before it has its number. */
export type BuiltEvent = StateEvent | ItemEvent

const INCOMPLETE: Partial<Record<PartOf<'finish'>['finishReason'], string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
  'max-steps': 'max_messages'
}

const NONE: readonly never[] = []

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
  #id = ''
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
    return this.#id
  }

  /** The number of the next event. */
  get sequence(): number {
    return this.#sequence
  }

  /** What the request asked for that the response answers; undefined for other readers. */
  get parameters(): ResponseParameters | undefined {
    return this.#asked?.id === this.#id ? this.#asked.parameters : undefined
  }

  get status(): ResponseStatus {
    return this.#status
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

  /** Adds an increment to the message under way, as one event, and returns the message; undefined if there is none. */
  extend(seq: number, text: string): OpenText | undefined {
    if (this.#isOver || this.#status === 'queued') return undefined
    const open = this.#items.extend(text)
    if (open === undefined) return undefined
    this.run.seq = seq
    this.#sequence++
    return open
  }

  /** The response so far. */
  build(): ResponseObject {
    return toResponseObject(this.#state(), this.parameters)
  }

  #state(): ResponseState {
    const { kind = 'agent', name = '', sessionId, afterTurn, metadata = {} } = this.run.start ?? {}
    const turnBefore = afterTurn ? toResponseId({ runId: afterTurn, after: 0 }) : null
    const { parameters } = this
    return {
      id: this.#id,
      created_at: this.#createdAt,
      completed_at: this.#completedAt ?? null,
      status: this.#status,
      model: toRunnableId(kind, name),
      previous_response_id:
        parameters?.previous_response_id ?? (this.#after === 0 ? turnBefore : this.#before),
      conversation: sessionId === undefined ? null : { id: sessionId },
      output: this.#items.output,
      usage: this.#isOver ? toResponseUsage(this.run.usage, this.#usageBefore) : null,
      error: this.#error,
      incomplete_details: this.#reason === undefined ? null : { reason: this.#reason },
      metadata: parameters?.metadata ?? metadata
    }
  }

  /** Takes the next part; returns the events of the response that it belongs to, the last ones before `sequence`. */
  add(part: NumberedPart): BuiltEvent[] {
    const before = this.isPaused ? this.#beginNext(part) : NONE
    this.run.add(part)
    const isBegun = this.#status === 'queued' && part.type !== 'start'
    if (isBegun) this.#status = 'in_progress'
    const begun = isBegun ? [this.#lifecycle('response.in_progress')] : NONE
    const own = this.#toEvents(part)
    const isPause = !this.#isOver && part.type !== 'text' && this.run.isWaiting && !this.hasEarlier
    const after = isPause ? this.#end('completed', part, this.#items.pause()) : NONE
    const events = before === begun && begun === after ? own : [...before, ...begun, ...own, ...after]
    this.#sequence += events.length
    return events
  }

  /** An event with its number, as the protocol has it. */
  toEvent(event: BuiltEvent, number: number): ResponseEvent {
    const { type, ...rest } = event
    const own = 'state' in rest ? { response: toResponseObject(rest.state, this.parameters) } : rest
    return { type, sequence_number: number, ...own } as ResponseEvent
  }

  #toEvents(part: NumberedPart): BuiltEvent[] {
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

  #begin(part: Logged<'start'>): StateEvent[] {
    this.#items = new RunItems(part.runId, part.name, this.#view)
    this.#id = toResponseId({ runId: part.runId, after: 0 })
    this.#createdAt = toSeconds(part.at)
    if (part.queued) this.#status = 'queued'
    return this.#created(part.queued ? 'response.queued' : 'response.in_progress')
  }

  #beginNext({ at }: NumberedPart): StateEvent[] {
    this.#before = this.#id
    this.#earlier = new Set(this.run.pending.keys())
    this.#after = this.run.seq
    this.#id = toResponseId({ runId: this.run.start!.runId, after: this.#after })
    this.#createdAt = toSeconds(at)
    this.#completedAt = undefined
    this.#status = 'in_progress'
    this.#isOver = false
    this.#sequence = 0
    this.#items.beginResponse()
    this.#usageBefore = this.run.usage
    return this.#created('response.in_progress')
  }

  #created(next: StateEvent['type']): StateEvent[] {
    const event = this.#lifecycle('response.created')
    return [event, { type: next, state: event.state }]
  }

  #finish(part: Logged<'finish'>): BuiltEvent[] {
    const { finishReason, structured, seq } = part
    if (finishReason === 'canceled') return this.#end('cancelled', part, this.#items.end('incomplete'))
    this.#reason = INCOMPLETE[finishReason]
    const status = this.#reason === undefined ? 'completed' : 'incomplete'
    // A runnable that has said nothing has its value as its text.
    return this.#end(status, part, [...this.#items.sayValue(structured, seq), ...this.#items.end(status)])
  }

  #end(status: ResponseStatus, { at }: NumberedPart, events: ItemEvent[]): BuiltEvent[] {
    this.#isOver = true
    this.#status = status
    this.#completedAt = toSeconds(at)
    // The protocol has no event for a canceled response.
    const last = status === 'completed' || status === 'failed' ? status : 'incomplete'
    return [...events, this.#lifecycle(`response.${last}`)]
  }

  #lifecycle(type: StateEvent['type']): StateEvent {
    return { type, state: this.#state() }
  }
}

function toSeconds(at: number): number {
  return Math.floor(at / 1_000)
}
