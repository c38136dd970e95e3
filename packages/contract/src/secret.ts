import { inspect } from 'node:util'

/** The replacement for a secret. */
export const REDACTED = '[redacted]'

/** A secret of a caller. Logs, JSON and string conversion show a placeholder; only `reveal()` returns it. */
export class Secret<T = unknown> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  /** The secret itself; pass it to the service that it is for only. */
  reveal(): T {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
