import type { LogEntry, ReadLimit } from '@svc/contract'
import { sizeOfEntry, TextEntry } from '@svc/contract/stores'

/** Bytes of a string, its slot and its time, without the characters. */
const TEXT_OVERHEAD = 40
/** Bytes of an entry with its slot and its time, without its fields. */
const ENTRY_OVERHEAD = 64

/** The log of one run in memory. Of plain text, which is most of a log, it keeps no entries: only the strings and their times. */
export class CompactLog {
  // The entry numbered `seq` is at index `seq - 1`.
  #entries: (LogEntry | string)[] = []
  // Of texts, in milliseconds since the first part: small integers take no memory of their own.
  #times: number[] = []
  #startedAt = 0
  #size = 0
  #held = 0

  /** Characters of its JSON, about. */
  get size(): number {
    return this.#size
  }

  /** Bytes that it takes in memory if a character takes one, about. */
  get held(): number {
    return this.#held
  }

  push(entry: LogEntry): void {
    const size = sizeOfEntry(entry)
    this.#size += size
    if (entry instanceof TextEntry) {
      const { at, text } = entry
      if (this.#entries.length === 0) this.#startedAt = at
      this.#entries.push(text)
      this.#times.push(at - this.#startedAt)
      this.#held += text.length + TEXT_OVERHEAD
    } else {
      this.#entries.push(entry)
      this.#times.push(0)
      // An entry with JSON keeps what is parsed of it, too; any other has an object about as large as its JSON.
      this.#held += ENTRY_OVERHEAD + (entry.size === undefined ? 3 * size : size)
    }
  }

  /** As `StreamLog.read`. */
  read(after: number, limit: ReadLimit): LogEntry[] {
    const end = Math.min(this.#entries.length, after + limit.entries)
    const entries: LogEntry[] = []
    let bytes = 0
    for (let index = after; index < end; index++) {
      const entry = this.#at(index)
      bytes += sizeOfEntry(entry)
      if (bytes > limit.bytes && entries.length > 0) break
      entries.push(entry)
    }
    return entries
  }

  /** Nothing more is pushed: gives back the memory reserved for it. */
  seal(): void {
    this.#entries = this.#entries.slice()
    this.#times = this.#times.slice()
  }

  #at(index: number): LogEntry {
    const kept = this.#entries[index]!
    return typeof kept === 'string'
      ? new TextEntry(index + 1, this.#startedAt + this.#times[index]!, kept)
      : kept
  }
}
