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

/** A caller's key for a model provider; pass it to the provider only. */
export class ProviderKey extends Secret<string> {}

/** Removes the caller's keys from values before they leave the run. */
export interface Redact {
  /** Redacts a JSON value; returns the value itself if it contains no key. */
  <T>(value: T): T
  /** Redacts a text that arrives in chunks, across which a key may be cut. Default: redacts each chunk by itself. */
  text?: () => TextInIncrements
}

/** Redacts nothing: for runs without a caller's keys. */
export const asItIs: Redact = (value) => value

/** Redacts one text chunk by chunk. */
export interface TextInIncrements {
  /** True if the next chunk may complete a key; if false, nothing is held back. */
  readonly open: boolean
  /** Takes a chunk and returns the text that is safe to emit. */
  add(increment: string): string
  /** Returns the text held back. */
  flush(): string
}
