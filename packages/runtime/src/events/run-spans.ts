import type * as Telemetry from '@opentelemetry/api'
import type { Attributes, Context, Span, SpanOptions, TracerProvider } from '@opentelemetry/api'
import type { RuntimeEvents } from './events.ts'

type Base = Pick<RuntimeEvents['run.start'], 'idempotencyKey' | 'at'>

interface OpenSpan {
  readonly span: Span
  /** The parent of what begins within it. */
  context: Context
  /** Open child spans of model and tool calls. */
  readonly calls: Map<string, Span>
}

const SCOPE = '@svc/runtime'

/** Open spans of active runs: a member's span is a child of its team's, a call's span a child of its run's. */
export class RunSpans {
  readonly #api: typeof Telemetry
  readonly #provider: TracerProvider | undefined
  // By idempotency key; an abandoned attempt may still be open when the next one starts.
  readonly #open = new Map<string, OpenSpan[]>()

  constructor(api: typeof Telemetry, provider?: TracerProvider) {
    this.#api = api
    this.#provider = provider
  }

  startRun(event: Base, name: string, attributes: Attributes): void {
    const parent = this.#parentOf(event) ?? this.#api.context.active()
    const options = { kind: this.#api.SpanKind.INTERNAL, startTime: event.at, attributes }
    const span = this.#start(name, options, parent)
    const open = { span, context: this.#api.trace.setSpan(parent, span), calls: new Map<string, Span>() }
    const key = event.idempotencyKey
    const spans = this.#open.get(key)
    if (spans === undefined) this.#open.set(key, [open])
    else spans.push(open)
  }

  endRun(event: Base, attributes: Attributes, error?: { code: string }): void {
    const key = event.idempotencyKey
    const spans = this.#open.get(key)
    const open = spans?.pop()
    if (spans?.length === 0) this.#open.delete(key)
    if (open === undefined) return
    for (const span of open.calls.values()) span.end(event.at)
    this.#end(open.span, event.at, attributes, error)
  }

  startCall(event: Base, id: string, name: string, options: SpanOptions): void {
    const open = this.#open.get(event.idempotencyKey)?.at(-1)
    open?.calls.set(id, this.#start(name, { ...options, startTime: event.at }, open.context))
  }

  /** As `startCall`; what begins from now on in the run is within it. */
  enterCall(event: Base, id: string, name: string, options: SpanOptions): void {
    this.startCall(event, id, name, options)
    const open = this.#open.get(event.idempotencyKey)?.at(-1)
    const span = open?.calls.get(id)
    if (span !== undefined) open!.context = this.#api.trace.setSpan(open!.context, span)
  }

  annotateCall({ idempotencyKey }: Base, id: string, attributes: Attributes): void {
    for (const { calls } of this.#open.get(idempotencyKey) ?? []) calls.get(id)?.setAttributes(attributes)
  }

  endCall(event: Base, id: string, attributes: Attributes, error?: { code: string }): void {
    for (const { calls } of this.#open.get(event.idempotencyKey) ?? []) {
      const span = calls.get(id)
      if (span === undefined) continue
      calls.delete(id)
      this.#end(span, event.at, attributes, error)
      return
    }
  }

  #start(name: string, options: SpanOptions, parent: Context): Span {
    return (this.#provider ?? this.#api.trace).getTracer(SCOPE).startSpan(name, options, parent)
  }

  // Only the code of an error: its message may quote the conversation.
  #end(span: Span, at: number, attributes: Attributes, error: { code: string } | undefined): void {
    span.setAttributes(attributes)
    if (error !== undefined) {
      span.setAttribute('error.type', error.code)
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR })
    }
    span.end(at)
  }

  // The nearest open ancestor: each segment of the key is a call, and names contain no slash.
  #parentOf({ idempotencyKey }: Base): Context | undefined {
    for (let end = idempotencyKey.length; (end = idempotencyKey.lastIndexOf('/', end - 1)) > 0;) {
      const above = this.#open.get(idempotencyKey.slice(0, end))?.at(-1)
      if (above !== undefined) return above.context
    }
    return undefined
  }
}
