import type { EventBus, RunContext, RunnableKind, TextInIncrements } from '@svc/registry'
import { CHANNELS } from './diagnostics.ts'
import type { RuntimeEvents } from './events.ts'

type Common = 'runId' | 'name' | 'kind' | 'at' | 'source' | 'idempotencyKey'
type Origin = Pick<RunContext, 'events' | 'runId'> &
  Partial<Pick<RunContext, 'source' | 'idempotencyKey' | 'redact'>>

/**
 * Emits the events of one run, on the bus and on the diagnostics channels, without the caller's keys; builds a payload only
 * when somebody listens.
 */
export class RunEvents {
  readonly #origin: Origin
  readonly #bus: EventBus
  readonly #name: string
  readonly #kind: RunnableKind
  // What increments are told through, where keys must not be.
  #answer: TextInIncrements | undefined

  constructor(origin: Origin, name: string, kind: RunnableKind) {
    this.#origin = origin
    this.#bus = origin.events
    this.#name = name
    this.#kind = kind
  }

  emit<N extends keyof RuntimeEvents>(name: N, fields: () => Omit<RuntimeEvents[N], Common>): void {
    const rest = this.#answer?.flush()
    if (rest) this.#emit('run.stream.chunk', () => ({ text: rest }))
    this.#emit(name, fields)
  }

  /** One increment of the answer. What may be the beginning of a key is told with the next one, or before another event. */
  chunk(text: string): void {
    if (!this.#bus.has('run.stream.chunk') && !CHANNELS['run.stream.chunk'].hasSubscribers) return
    this.#answer ??= this.#origin.redact?.text?.()
    const told = this.#answer?.add(text) ?? text
    if (told !== '') this.#emit('run.stream.chunk', () => ({ text: told }))
  }

  #emit<N extends keyof RuntimeEvents>(name: N, fields: () => Omit<RuntimeEvents[N], Common>): void {
    const channel = CHANNELS[name]
    const heard = this.#bus.has(name)
    if (!heard && !channel.hasSubscribers) return
    const { runId, source = [], idempotencyKey = runId, redact = asItIs } = this.#origin
    const event = {
      runId,
      name: this.#name,
      kind: this.#kind,
      at: Date.now(),
      ...(source.length > 0 && { source: [...source] }),
      idempotencyKey,
      ...redact(fields())
    } as unknown as RuntimeEvents[N]
    if (heard) this.#bus.emit(name, event)
    if (channel.hasSubscribers) channel.publish(event)
  }
}

function asItIs<T>(value: T): T {
  return value
}
