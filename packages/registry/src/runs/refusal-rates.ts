import { setNewest } from '../drop-oldest.ts'

// Milliseconds over which refusals are counted, so many of which are often, and the most owners that are remembered.
const WINDOW = 1_000
const OFTEN = 20
const MAX_OWNERS = 10_000

interface Refusals {
  since: number
  count: number
}

/** How often the starts of each owner are refused. */
export class RefusalRates {
  readonly #owners = new Map<string, Refusals>()

  /** A start was refused. */
  add(owner: string): void {
    const refusals = this.#recent(owner)
    if (refusals !== undefined) return void refusals.count++
    setNewest(this.#owners, owner, { since: performance.now(), count: 1 }, MAX_OWNERS)
  }

  /** True if the starts of an owner were refused more than 20 times within a second, just now. */
  isOften(owner: string): boolean {
    return (this.#recent(owner)?.count ?? 0) > OFTEN
  }

  #recent(owner: string): Refusals | undefined {
    const refusals = this.#owners.get(owner)
    return refusals !== undefined && performance.now() - refusals.since < WINDOW ? refusals : undefined
  }
}
