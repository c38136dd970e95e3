import type { EventBus, RunContext, RunnableKind } from '@svc/registry'
import type { RuntimeEvents } from './events.ts'

type Common = 'runId' | 'name' | 'kind' | 'at'

/** Emits the events of one run; a payload is built only when somebody listens. */
export class RunEvents {
  readonly #bus: EventBus
  readonly #runId: string
  readonly #name: string
  readonly #kind: RunnableKind

  constructor({ events, runId }: Pick<RunContext, 'events' | 'runId'>, name: string, kind: RunnableKind) {
    this.#bus = events
    this.#runId = runId
    this.#name = name
    this.#kind = kind
  }

  emit<N extends keyof RuntimeEvents>(name: N, fields: () => Omit<RuntimeEvents[N], Common>): void {
    if (!this.#bus.has(name)) return
    const event = { runId: this.#runId, name: this.#name, kind: this.#kind, at: Date.now(), ...fields() }
    this.#bus.emit(name, event as unknown as RuntimeEvents[N])
  }

  /** One increment of the answer. */
  chunk(text: string): void {
    if (this.#bus.has('run.stream.chunk')) this.emit('run.stream.chunk', () => ({ text }))
  }
}
