import type { LogEntry, ReadLimit } from '@svc/contract'
import { sizeOfEntry } from '@svc/contract/stores'

/** How much of a log is kept: entries, and characters of JSON. */
export interface TailLimit {
  readonly entries: number
  readonly bytes: number
}

/** The newest committed entries of one log. Entries never change, so none is ever outdated. */
export class Tail {
  // Oldest first.
  #entries: LogEntry[] = []
  #bytes = 0
  // The `seq` before the first entry; undefined if the position in the log is unknown.
  #before: number | undefined

  /** The `seq` of the last entry; 0 if that is unknown. */
  get last(): number {
    return this.#before === undefined ? 0 : this.#before + this.#entries.length
  }

  /** Drops all entries; the next one follows `before`, if given. */
  reset(before?: number): void {
    this.#entries = []
    this.#bytes = 0
    this.#before = before
  }

  /** Adds entries that follow the last one. Those it has are ignored; after a gap it begins again. */
  add(entries: readonly LogEntry[], limit: TailLimit): void {
    for (const entry of entries) {
      if (this.#before !== undefined && entry.seq <= this.last) continue
      if (this.#before === undefined || entry.seq > this.last + 1) this.reset(entry.seq - 1)
      this.#entries.push(entry)
      this.#bytes += sizeOfEntry(entry)
    }
    if (this.#entries.length > limit.entries || this.#bytes > limit.bytes) this.#shorten(limit)
  }

  /** The entries after a `seq`; undefined if some of them are not here. */
  read(after: number, limit: ReadLimit): LogEntry[] | undefined {
    if (this.#before === undefined || after < this.#before) return undefined
    return takePage(this.#entries, limit, after - this.#before)
  }

  // To half, so that not every entry moves the others.
  #shorten(limit: TailLimit): void {
    let dropped = 0
    const isTooLong = () =>
      this.#entries.length - dropped > limit.entries >> 1 || this.#bytes > limit.bytes >> 1
    while (dropped < this.#entries.length && isTooLong())
      this.#bytes -= sizeOfEntry(this.#entries[dropped++]!)
    this.#entries = this.#entries.slice(dropped)
    this.#before! += dropped
  }
}

/** The entries from an index on that one read may return; one at least, however large. */
export function takePage(entries: readonly LogEntry[], limit: ReadLimit, from = 0): LogEntry[] {
  const page: LogEntry[] = []
  let bytes = 0
  for (let index = from; index < entries.length && page.length < limit.entries; index++) {
    const entry = entries[index]!
    bytes += sizeOfEntry(entry)
    if (bytes > limit.bytes && page.length > 0) break
    page.push(entry)
  }
  return page
}
