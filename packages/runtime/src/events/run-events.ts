import type { EventBus, RunContext, RunnableKind } from '@svc/registry'
import { CHANNELS } from './diagnostics.ts'
import type { RuntimeEvents } from './events.ts'

type Common = 'runId' | 'name' | 'kind' | 'at' | 'source'

/** Emits the events of one run, on the bus and on the diagnostics channels; builds a payload only when somebody listens. */
export class RunEvents {
  readonly #bus: EventBus
  readonly #runId: string
  readonly #name: string
  readonly #kind: RunnableKind
  readonly #source: readonly string[]

  constructor(
    {
      events,
      runId,
      source = []
    }: Pick<RunContext, 'events' | 'runId'> & Partial<Pick<RunContext, 'source'>>,
    name: string,
    kind: RunnableKind
  ) {
    this.#bus = events
    this.#runId = runId
    this.#name = name
    this.#kind = kind
    this.#source = source
  }

  emit<N extends keyof RuntimeEvents>(name: N, fields: () => Omit<RuntimeEvents[N], Common>): void {
    const channel = CHANNELS[name]
    const heard = this.#bus.has(name)
    if (!heard && !channel.hasSubscribers) return
    const source = this.#source
    const event = {
      runId: this.#runId,
      name: this.#name,
      kind: this.#kind,
      at: Date.now(),
      ...(source.length > 0 && { source: [...source] }),
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
