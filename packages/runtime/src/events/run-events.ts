import { emitEvent, type EventFields, type EventOrigin, type RunnableKind } from '@svc/registry'
import type { RuntimeEvents } from './events.ts'

/** Emits what happens within one run: of its models, tools, approvals, memory and skills. */
export class RunEvents {
  readonly #origin: EventOrigin
  readonly #ran: { readonly kind: RunnableKind; readonly name: string }

  constructor(origin: EventOrigin, name: string, kind: RunnableKind) {
    this.#origin = origin
    this.#ran = { kind, name }
  }

  /** `fields` are asked for only when somebody listens. */
  emit<N extends keyof RuntimeEvents>(name: N, fields: () => EventFields<N>): void {
    emitEvent(this.#origin, this.#ran, name, fields)
  }
}
