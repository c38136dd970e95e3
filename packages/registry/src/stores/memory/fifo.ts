/**
 * First in, first out. A Map's first key gets slow to find once many before it were deleted; this does not.
 */
export class Fifo<T> {
  #items: T[] = []
  #head = 0

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    return this.#items[this.#head]
  }

  shift(): T | undefined {
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined as T
    if (++this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
