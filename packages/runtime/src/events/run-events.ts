import type { EventBus, RunContext, RunnableKind } from '@svc/registry'
import { CHANNELS } from './diagnostics.ts'
import type { RuntimeEvents } from './events.ts'

type Common = 'runId' | 'name' | 'kind' | 'at' | 'source' | 'idempotencyKey'
type Origin = Pick<RunContext, 'events' | 'runId'> & Partial<Pick<RunContext, 'source' | 'idempotencyKey'>>

/** Emits the events of one run, on the bus and on the diagnostics channels; builds a payload only when somebody listens. */
export class RunEvents {
  readonly #origin: Origin
  readonly #bus: EventBus
  readonly #name: string
  readonly #kind: RunnableKind

  constructor(origin: Origin, name: string, kind: RunnableKind) {
    this.#origin = origin
    this.#bus = origin.events
    this.#name = name
    this.#kind = kind
  }

  emit<N extends keyof RuntimeEvents>(name: N, fields: () => Omit<RuntimeEvents[N], Common>): void {
    const channel = CHANNELS[name]
    const heard = this.#bus.has(name)
    if (!heard && !channel.hasSubscribers) return
    const { runId, source = [], idempotencyKey = runId } = this.#origin
    const event = {
      runId,
      name: this.#name,
      kind: this.#kind,
      at: Date.now(),
      ...(source.length > 0 && { source: [...source] }),
      idempotencyKey,
      ...fields()
    } as unknown as RuntimeEvents[N]
    if (heard) this.#bus.emit(name, event)
    if (channel.hasSubscribers) channel.publish(event)
  }

  /** One increment of the answer. */
  chunk(text: string): void {
    if (this.#bus.has('run.stream.chunk') || CHANNELS['run.stream.chunk'].hasSubscribers)
      this.emit('run.stream.chunk', () => ({ text }))
  }
}
