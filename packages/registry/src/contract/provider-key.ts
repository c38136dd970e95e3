import { inspect } from 'node:util'

/** What stands where a secret was. */
export const REDACTED = '[redacted]'

/** A caller's key for a model provider: it shows itself to nobody who does not ask for it, be it a log, JSON or a text. */
export class ProviderKey {
  readonly #key: string

  constructor(key: string) {
    this.#key = key
  }

  /** The key itself, for the provider alone. */
  reveal(): string {
    return this.#key
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
