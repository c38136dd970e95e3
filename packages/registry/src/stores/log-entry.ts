import type { NumberedPart } from '../contract/part.ts'
import type { LogEntry } from '../contract/ports/stream-log.ts'
import { RUN_ERR_DAMAGED } from '../errors.ts'

/** The approximate number of characters of an entry's JSON, without encoding it. */
export function sizeOfEntry(entry: LogEntry): number {
  return entry.size ?? entry.json.length
}

/** A log entry from its JSON; reading its part throws RUN_ERR_DAMAGED if that JSON is invalid. */
export function entryFromJson(seq: number, json: string): LogEntry {
  return new JsonEntry(seq, json)
}

class JsonEntry implements LogEntry {
  readonly seq: number
  readonly json: string
  #part: NumberedPart | undefined

  constructor(seq: number, json: string) {
    this.seq = seq
    this.json = json
  }

  get part(): NumberedPart {
    return (this.#part ??= this.#parse())
  }

  #parse(): NumberedPart {
    try {
      return JSON.parse(this.json) as NumberedPart
    } catch {
      throw new RUN_ERR_DAMAGED(`part ${this.seq}`)
    }
  }
}
