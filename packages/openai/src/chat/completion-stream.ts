import type { LogEntry } from '@svc/contract'
import { encodeText } from '@svc/contract/stores'
import { encodeEvents, encodeLarge, MAX_WHOLE, type RunProjection } from '@svc/surface'
import { toErrorBody } from '../wire/error-body.ts'
import { toCallDelta, type CompletionEvent, type EndEvent } from './completion-message.ts'
import type { CompletionEvents } from './completion-events.ts'
import type { Chunk, CompletionUsage, Delta, ChatFinishReason } from './completion-schemas.ts'

const DONE = 'data: [DONE]\n\n'
const RESTARTED = {
  code: 'stream_restarted',
  message: 'What was streamed is void, since a step of the run is repeated: send the request again'
}

/** The log of a run as the stream of one of its completions. */
export class CompletionStream implements RunProjection {
  readonly head: string | Iterable<string>
  readonly #events: CompletionEvents
  readonly #includesUsage: boolean
  // What all chunks have around their delta, once the completion has begun.
  #before = ''
  #after = ''
  // Characters of the answer that were sent.
  #sent = 0
  #ended = false

  /** @param seen the events of the completion so far, if it has begun */
  constructor(events: CompletionEvents, includesUsage: boolean, seen: readonly CompletionEvent[] = []) {
    this.#events = events
    this.#includesUsage = includesUsage
    this.head = this.#encodeAll(seen)
  }

  get seq(): number {
    return this.#events.run.seq
  }

  get ended(): boolean {
    return this.#ended
  }

  // A stream that ended in order, its client would take for a whole one.
  get breaksOff(): boolean {
    return true
  }

  encode(entry: LogEntry): string | Iterable<string> {
    const { seq, part } = entry
    if (part.type === 'text' && !part.source?.length && this.#events.extend(seq, part.text)) {
      this.#sent += part.text.length
      return `${this.#before}{"content":${encodeText(entry, part.text)}}${this.#after}`
    }
    return this.#encodeAll(this.#events.add(part))
  }

  // Large texts in pieces.
  #encodeAll(events: readonly CompletionEvent[]): string | Iterable<string> {
    const messages = events.flatMap((event) => this.#toMessages(event))
    const framing = { end: this.#ended ? DONE : '' }
    const isLarge = events.some((event) => 'text' in event && event.text.length > MAX_WHOLE)
    return isLarge ? encodeLarge(messages, framing) : encodeEvents(messages, framing)
  }

  #toMessages(event: CompletionEvent): object[] {
    if (this.#ended) return []
    switch (event.type) {
      case 'begin':
        this.#begin()
        return [this.#toChunk({ role: 'assistant', content: '' })]
      case 'text':
        this.#sent += event.text.length
        return [this.#toChunk({ content: event.text })]
      case 'reasoning':
        return [this.#toChunk({ reasoning_content: event.text })]
      case 'void':
        return this.#sent > event.kept ? this.#fail(RESTARTED) : []
      case 'end':
        return this.#end(event)
      default:
        return this.#fail(event.error)
    }
  }

  #begin(): void {
    const whole = JSON.stringify(this.#toChunk({}))
    const delta = '"delta":'
    const at = whole.lastIndexOf(`${delta}{}`) + delta.length
    this.#before = `data: ${whole.slice(0, at)}`
    this.#after = `${whole.slice(at + 2)}\n\n`
  }

  #end({ reason, calls, annotations, usage }: EndEvent): object[] {
    this.#ended = true
    const chunks: object[] = []
    if (annotations.length > 0) chunks.push(this.#toChunk({ annotations: [...annotations] }))
    if (calls.length > 0) chunks.push(this.#toChunk(toCallDelta(calls, reason === 'function_call')))
    chunks.push(this.#toChunk({}, reason))
    if (this.#includesUsage) chunks.push({ ...this.#toChunk({}), choices: [], usage })
    return chunks
  }

  #fail({ code, message }: { readonly code: string; readonly message: string }): object[] {
    this.#ended = true
    return [toErrorBody({ statusCode: 500, code, message })]
  }

  #toChunk(delta: Delta, reason: ChatFinishReason | null = null): Chunk {
    const { id, created, model } = this.#events
    return {
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      ...(this.#includesUsage && { usage: null as CompletionUsage | null })
    }
  }
}
