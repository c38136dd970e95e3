import { ANONYMOUS } from '../contract/principal.ts'

/** How many unfinished runs each owner has here; anonymous ones are not counted, since they may be anybody's. */
export class OwnerCounts {
  readonly #counts = new Map<string, number>()

  of(owner: string): number {
    return this.#counts.get(owner) ?? 0
  }

  add(owner: string): void {
    if (owner !== ANONYMOUS.sub) this.#counts.set(owner, this.of(owner) + 1)
  }

  remove(owner: string): void {
    if (owner === ANONYMOUS.sub) return
    const left = this.of(owner) - 1
    if (left > 0) this.#counts.set(owner, left)
    else this.#counts.delete(owner)
  }
}
