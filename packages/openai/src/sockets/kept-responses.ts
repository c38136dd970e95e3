import type { KeptResponse } from '../responses/start-run.ts'

/** Responses that are kept at most. */
const MAX_KEPT = 16

/**
 * What a connection keeps of its responses, so that the next ones can follow without their being stored: the newest, as far as there is
 * room.
 */
export class KeptResponses {
  readonly #kept = new Map<string, KeptResponse & { readonly size: number }>()
  readonly #maxSize: number
  #size = 0

  /** @param maxSize bytes of all of them */
  constructor(maxSize: number) {
    this.#maxSize = maxSize
  }

  has(id: string): boolean {
    return this.#kept.has(id)
  }

  find(id: string): KeptResponse | undefined {
    return this.#kept.get(id)
  }

  /** The bytes of a response with all before it; 0 if it is not kept. */
  sizeOf(id: string): number {
    return this.#kept.get(id)?.size ?? 0
  }

  /** Keeps a response, unless it is too large. @param size bytes with all before it */
  add(id: string, kept: KeptResponse, size: number): void {
    if (size > this.#maxSize) return
    this.#kept.set(id, { ...kept, size })
    this.#size += size
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#maxSize && this.#kept.size <= MAX_KEPT) return
      this.delete(oldest)
    }
  }

  delete(id: string): void {
    this.#size -= this.sizeOf(id)
    this.#kept.delete(id)
  }
}
