import { dropOldest } from '@svc/contract'
import type { Item } from '../events/items.ts'

/** Items that are kept; the oldest are dropped. */
const MAX_ITEMS = 1_000

/** The items of a conversation as their client sees them, in order. */
export class ItemList {
  readonly #items = new Map<string, Item>()
  #lastId: string | null = null

  /** The id of the last item; null before the first. */
  get lastId(): string | null {
    return this.#lastId
  }

  has(id: string): boolean {
    return this.#items.has(id)
  }

  get(id: string): Item | undefined {
    return this.#items.get(id)
  }

  /** Adds an item at the end. */
  add(id: string, item: Item): void {
    this.#items.set(id, item)
    this.#lastId = id
    dropOldest(this.#items, MAX_ITEMS)
  }

  /** Replaces an item in its place; an unknown one is not added. */
  replace(id: string, item: Item): void {
    if (this.#items.has(id)) this.#items.set(id, item)
  }
}
