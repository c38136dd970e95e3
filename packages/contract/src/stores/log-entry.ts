import type { NumberedPart } from '../part.ts'
import type { LogEntry } from '../ports/stream-log.ts'
import { RUN_ERR_DAMAGED } from '../errors.ts'

/** The approximate number of characters of an entry's JSON, without encoding it. */
export function sizeOfEntry(entry: LogEntry): number {
  return entry.size ?? entry.json.length
}

/** A log entry from its JSON; reading its part throws RUN_ERR_DAMAGED if that JSON is invalid. */
export function entryFromJson(seq: number, json: string): LogEntry {
  return new JsonEntry(seq, json)
}

/** Characters of JSON around a plain text, about. */
const TEXT_FRAME = 56

// Of the last text: many are of one millisecond.
let lastAt = -1
let lastMiddle = ''

/** The entry of a text part whose text needs no escapes in JSON. It holds no JSON: framing the text costs less than keeping both. */
export class TextEntry implements LogEntry {
  readonly seq: number
  readonly at: number
  readonly text: string

  constructor(seq: number, at: number, text: string) {
    this.seq = seq
    this.at = at
    this.text = text
  }

  get size(): number {
    return this.text.length + TEXT_FRAME
  }

  get json(): string {
    return `{"seq":${this.seq}${this.middle}${this.text}"}`
  }

  /** What its JSON has between its number and its text. */
  get middle(): string {
    const { at } = this
    return at === lastAt ? lastMiddle : (lastMiddle = `,"type":"text","at":${(lastAt = at)},"text":"`)
  }

  // A new object each time, so callers cannot mutate the log.
  get part(): NumberedPart {
    return { seq: this.seq, type: 'text', at: this.at, text: this.text }
  }
}

/** The JSON of the text of an entry. */
export function encodeText(entry: LogEntry, text: string): string {
  return entry instanceof TextEntry ? `"${text}"` : JSON.stringify(text)
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
