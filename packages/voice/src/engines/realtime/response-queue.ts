import { dropOldest } from '@svc/contract'
import type { ClientEvent, RealtimeUsage, ServerEvent } from './events.ts'
import type { Abilities } from './realtime-codec.ts'

/** An event of a response. */
export type ResponseEvent = Extract<ServerEvent, { responseId: string }>

/** How a response ended. */
export interface ResponseEnd {
  readonly status: 'completed' | 'canceled' | 'incomplete' | 'failed'
  readonly usage?: RealtimeUsage | undefined
  /** Why it is incomplete or failed, in the provider's words for programs. */
  readonly code?: string | undefined
}

/** A response that the model is asked for. */
export interface WantedResponse {
  /** Beside those of the session. */
  readonly instructions: string | undefined
  readonly modality: 'audio' | 'text'
  /** True if a response that the provider began by itself may be the one; false for a text to speak. */
  readonly answers: boolean
  take(event: ResponseEvent): void
  /** The connection was lost before the response was complete. True if it is asked for again. */
  restart(): boolean
  end(end: ResponseEnd): void
}

/** The connection, as far as responses need it. */
interface ResponseHost {
  readonly abilities: () => Abilities | undefined
  readonly send: (event: ClientEvent, eventId: string) => void
  /** The instructions of the session; those of a response replace them. */
  readonly instructions: () => string
  /** Milliseconds until a canceled response must have ended. */
  readonly cancelTimeout: number
  /** A canceled response did not end. */
  readonly onStuck: () => void
}

interface OpenResponse {
  wanted: WantedResponse | undefined
  id: string | undefined
  readonly eventId: string
  readonly held: ResponseEvent[]
  isCanceled?: boolean
  timer?: NodeJS.Timeout
}

const MAX_HELD = 10_000
const MAX_ENDED = 64
// The provider began a response by itself; the request is then answered by that one.
const ALREADY_ACTIVE = 'conversation_already_has_active_response'

/** Asks for one response at a time, and gives each its events. */
export class ResponseQueue {
  readonly #host: ResponseHost
  readonly #waiting: WantedResponse[] = []
  #open: OpenResponse | undefined
  // A response that the provider began by itself, and that is complete.
  #unasked: { readonly held: readonly ResponseEvent[]; readonly end: ResponseEnd } | undefined
  #ended = new Set<string>()
  #count = 0

  constructor(host: ResponseHost) {
    this.#host = host
  }

  /** True while a response is awaited. */
  get isBusy(): boolean {
    return this.#open?.wanted !== undefined || this.#waiting.length > 0
  }

  /** True for a response without an event so far. */
  isNew(responseId: string): boolean {
    return this.#open?.id !== responseId && !this.#ended.has(responseId)
  }

  /** Asks for a response as soon as no other is open. */
  request(wanted: WantedResponse): void {
    this.#waiting.push(wanted)
    this.#next()
  }

  /** Ends a response early: it gets no further events. */
  cancel(wanted: WantedResponse): void {
    const at = this.#waiting.indexOf(wanted)
    const open = this.#open
    if (at >= 0) this.#waiting.splice(at, 1)
    else if (open?.wanted !== wanted) return
    else {
      open.wanted = undefined
      open.isCanceled = true
      if (this.#host.abilities()?.cancel) {
        this.#host.send({ type: 'response-cancel' }, `cancel_${open.eventId}`)
        open.timer = setTimeout(() => this.#host.onStuck(), this.#host.cancelTimeout)
      }
    }
    wanted.end({ status: 'canceled' })
  }

  /** Ends a response that waits for its tools; what follows belongs to the next request. */
  pause(wanted: WantedResponse): void {
    const open = this.#open
    if (open?.wanted !== wanted) return
    open.wanted = undefined
    wanted.end({ status: 'completed' })
  }

  /** Takes an event of a response; late ones of an ended response are ignored. */
  take(event: ResponseEvent): void {
    const { responseId } = event
    if (this.#ended.has(responseId)) return
    // Events may come before that of their response's creation.
    if (this.#open?.id !== undefined && this.#open.id !== responseId) this.#end({ status: 'canceled' })
    const open = (this.#open ??= this.#begin(this.#takeAnswer()))
    open.id = responseId
    if (event.type === 'response-done') return this.#end(toEnd(event))
    if (open.wanted !== undefined) open.wanted.take(event)
    else if (!open.isCanceled && open.held.length < MAX_HELD) open.held.push(event)
  }

  /** The provider ended its response because the user spoke. */
  interrupted(): void {
    if (this.#open?.id !== undefined) this.#end({ status: 'canceled' })
    this.#unasked = undefined
  }

  /** The provider refused a request. */
  refuse(eventId: string, code: string | undefined): void {
    const open = this.#open
    if (open === undefined || open.id !== undefined || open.eventId !== eventId) return
    if (code !== ALREADY_ACTIVE) this.#end({ status: 'failed', code })
  }

  /** A new connection knows no responses: what is incomplete is asked for again. */
  restore(): void {
    const open = this.#open
    this.#open = this.#unasked = undefined
    this.#ended = new Set()
    clearTimeout(open?.timer)
    if (open?.wanted?.restart()) this.#waiting.unshift(open.wanted)
    this.#next()
  }

  /** Ends all responses. */
  close(end: ResponseEnd): void {
    clearTimeout(this.#open?.timer)
    const wanted = [...(this.#open?.wanted ? [this.#open.wanted] : []), ...this.#waiting.splice(0)]
    this.#open = undefined
    for (const each of wanted) each.end(end)
  }

  #next(): void {
    const abilities = this.#host.abilities()
    if (this.#open !== undefined) {
      if (this.#open.wanted === undefined && !this.#open.isCanceled) this.#adopt(this.#open)
      return
    }
    const [wanted] = this.#waiting
    if (abilities === undefined || wanted === undefined) return
    this.#waiting.shift()
    if (wanted.answers && this.#unasked !== undefined) return this.#giveUnasked(wanted)
    if (!abilities.create && !wanted.answers) return wanted.end({ status: 'canceled' })
    this.#open = this.#begin(wanted)
    const { eventId } = this.#open
    const { modality, instructions: own } = wanted
    const instructions = own && [this.#host.instructions(), own].filter(Boolean).join('\n\n')
    this.#host.send(
      {
        type: 'response-create',
        options: { modalities: [modality], ...(instructions !== undefined && { instructions }) }
      },
      eventId
    )
  }

  #begin(wanted: WantedResponse | undefined): OpenResponse {
    return { wanted, id: undefined, eventId: `response_${++this.#count}`, held: [] }
  }

  #takeAnswer(): WantedResponse | undefined {
    return this.#waiting[0]?.answers ? this.#waiting.shift() : undefined
  }

  // A response that the provider began by itself answers the first request for an answer.
  #adopt(open: OpenResponse): void {
    open.wanted = this.#takeAnswer()
    for (const event of open.held.splice(0)) open.wanted?.take(event)
  }

  #giveUnasked(wanted: WantedResponse): void {
    const { held, end } = this.#unasked!
    this.#unasked = undefined
    for (const event of held) wanted.take(event)
    wanted.end(end)
    this.#next()
  }

  #end(end: ResponseEnd): void {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    clearTimeout(open.timer)
    if (open.id !== undefined) this.#ended.add(open.id)
    dropOldest(this.#ended, MAX_ENDED)
    if (open.wanted !== undefined) open.wanted.end(end)
    else if (!open.isCanceled && end.status === 'completed') this.#unasked = { held: open.held, end }
    this.#next()
  }
}

const STATUSES: Readonly<Record<string, ResponseEnd['status']>> = {
  completed: 'completed',
  cancelled: 'canceled',
  incomplete: 'incomplete',
  failed: 'failed'
}

function toEnd({ status, usage, raw }: Extract<ResponseEvent, { type: 'response-done' }>): ResponseEnd {
  const { response } = raw as { response?: { status_details?: { reason?: unknown; error?: unknown } } }
  const { reason, error } = response?.status_details ?? {}
  const { code = reason } = (error ?? {}) as { code?: unknown }
  return { status: STATUSES[status] ?? 'completed', usage, ...(typeof code === 'string' && { code }) }
}
