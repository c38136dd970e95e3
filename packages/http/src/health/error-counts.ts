/** How often an error occurred. */
export interface ErrorCount {
  readonly code: string
  readonly count: number
  /** Milliseconds since the epoch. */
  readonly lastAt: number
}

// Codes may come from apps and their tools.
const MAX_CODES = 200
const OTHER = 'OTHER'

/** Counts errors by their codes, since the start of the process. */
export class ErrorCounts {
  readonly #counts = new Map<string, { count: number; lastAt: number }>()

  add(code: string, at: number = Date.now()): void {
    const isKnown = this.#counts.has(code) || this.#counts.size < MAX_CODES
    const key = isKnown ? code : OTHER
    const counted = this.#counts.get(key)
    if (counted === undefined) this.#counts.set(key, { count: 1, lastAt: at })
    else {
      counted.count++
      counted.lastAt = at
    }
  }

  /** The most frequent first. */
  list(): ErrorCount[] {
    return [...this.#counts]
      .map(([code, counted]) => ({ code, ...counted }))
      .toSorted((a, b) => b.count - a.count)
  }
}
