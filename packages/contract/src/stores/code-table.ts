import { createPause } from '../json.ts'
import { CODE_BYTES } from './embedding-codes.ts'

// Words of 32 bits in a code.
const WORDS = CODE_BYTES / 4
// Codes compared between two looks at the clock.
const STRIDE = 2_048
// Milliseconds of one turn of the event loop.
const SLICE = 2
const MIN_CAPACITY = 16
/** Estimated bytes of an item: its code, its id, and its entry in the map. */
const ITEM_BYTES = CODE_BYTES + 64

/** The codes of the embeddings of one model, in memory, by ids of their items. */
export class CodeTable<Id> {
  #codes = new Uint32Array(MIN_CAPACITY * WORDS)
  /** By place; undefined where a code was removed. */
  readonly #ids: (Id | undefined)[] = []
  readonly #places = new Map<Id, number>()
  readonly #free: number[] = []

  get size(): number {
    return this.#places.size
  }

  /** Estimated size in memory. */
  get bytes(): number {
    return (this.#codes.length / WORDS) * ITEM_BYTES
  }

  /** Adds a code, or replaces that of its item. */
  set(id: Id, code: Uint8Array): void {
    const place = this.#places.get(id) ?? this.#free.pop() ?? this.#ids.length
    if (place * WORDS === this.#codes.length) this.#grow()
    this.#codes.set(toWords(code), place * WORDS)
    this.#ids[place] = id
    this.#places.set(id, place)
  }

  /** Removes a code and overwrites its bits; true if there was one. */
  delete(id: Id): boolean {
    const place = this.#places.get(id)
    if (place === undefined) return false
    // The others keep their places: a search may be in progress.
    this.#codes.fill(0, place * WORDS, (place + 1) * WORDS)
    this.#ids[place] = undefined
    this.#places.delete(id)
    this.#free.push(place)
    return true
  }

  /**
   * The ids of the nearest codes by Hamming distance, nearest first, found over as many turns of the event loop as needed. What is
   * added or removed meanwhile may be among them or not.
   */
  async nearest(code: Uint8Array, count: number): Promise<Id[]> {
    const words = toWords(code)
    const found = new Nearest<Id>(count)
    const pause = createPause(SLICE)
    for (let from = 0; from < this.#ids.length; from += STRIDE) {
      await pause()
      this.#compare(words, from, Math.min(from + STRIDE, this.#ids.length), found)
    }
    return found.ids()
  }

  #compare(words: Uint32Array, from: number, to: number, found: Nearest<Id>): void {
    for (let place = from; place < to; place++) {
      const distance = distanceAt(this.#codes, place * WORDS, words)
      if (distance > found.farthest) continue
      const id = this.#ids[place]
      if (id !== undefined) found.add(id, distance)
    }
  }

  #grow(): void {
    const codes = new Uint32Array(this.#codes.length * 2)
    codes.set(this.#codes)
    this.#codes = codes
  }
}

// A copy, since the bytes of a database need not be aligned.
function toWords(code: Uint8Array): Uint32Array {
  return new Uint32Array(Uint8Array.from(code).buffer)
}

function distanceAt(codes: Uint32Array, at: number, words: Uint32Array): number {
  let distance = 0
  for (let word = 0; word < WORDS; word++) distance += countBits(codes[at + word]! ^ words[word]!)
  return distance
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** The nearest so far. Those of one distance go together, once there are enough without them. */
class Nearest<Id> {
  readonly #count: number
  readonly #byDistance: Id[][] = []
  #size = 0
  /** Codes beyond this distance are not among the nearest. */
  farthest = CODE_BYTES * 8

  constructor(count: number) {
    this.#count = count
  }

  add(id: Id, distance: number): void {
    const equal = (this.#byDistance[distance] ??= [])
    equal.push(id)
    this.#size++
    while (this.farthest > 0 && this.#size - this.#sizeAt(this.farthest) >= this.#count) {
      this.#size -= this.#sizeAt(this.farthest)
      this.#byDistance[this.farthest--] = []
    }
  }

  ids(): Id[] {
    return this.#byDistance.flat().slice(0, this.#count)
  }

  #sizeAt(distance: number): number {
    return this.#byDistance[distance]?.length ?? 0
  }
}
