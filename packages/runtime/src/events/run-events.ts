import type { RunnableKind } from '@svc/contract'
import { emitEvent, type EventFields, type EventOrigin } from '@svc/registry/engine'
import type { RuntimeEvents } from './events.ts'

/** Emits the events of one run: models, tools, approvals, memory and skills. */
export class RunEvents {
  readonly #origin: EventOrigin
  readonly #runnable: { readonly kind: RunnableKind; readonly name: string }

  constructor(origin: EventOrigin, name: string, kind: RunnableKind) {
    this.#origin = origin
    this.#runnable = { kind, name }
  }

  /** Calls `fields` only if the event has listeners. */
  emit<N extends keyof RuntimeEvents>(name: N, fields: () => EventFields<N>): void {
    emitEvent(this.#origin, this.#runnable, name, fields)
  }
}
