import type { NumberedPart, Part, PartType } from '../../contract/part.ts'
import type { Usage } from '../../contract/usage.ts'
import type { LogEntry } from '../../contract/ports/stream-log.ts'
import { encodeJson } from './encode-json.ts'

/**
 * An entry for a part with few plain fields, as most parts are. It keeps the fields and encodes the JSON on first access: if
 * the caller only awaits the result, the log is never read.
 */
class FlatEntry implements LogEntry {
  readonly seq: number
  readonly at: number
  readonly size: number
  readonly #part: Part
  #json: string | undefined

  constructor(seq: number, at: number, part: Part, size: number) {
    this.seq = seq
    this.at = at
    this.size = size
    this.#part = part
  }

  get type(): PartType {
    return this.#part.type
  }

  get json(): string {
    return (this.#json ??= this.#encode())
  }

  // Returns a fresh copy, so callers cannot mutate the log.
  get part(): NumberedPart {
    const part = this.#part
    const placed = { seq: this.seq, type: part.type, at: this.at, ...(part as object) } as NumberedPart
    if ('usage' in placed) placed.usage = { ...placed.usage }
    return placed
  }

  #encode(): string {
    const part = this.#part
    // Plain text needs no escaping.
    return part.type === 'text'
      ? `{"seq":${this.seq},"type":"text","at":${this.at},"text":"${part.text}"}`
      : encodeJson(this.seq, this.at, part)
  }
}

/** Returns a flat entry for the part; undefined if it has fields that must be encoded at once. */
export function toFlatEntry(seq: number, at: number, part: Part): LogEntry | undefined {
  const flat = flatten(part)
  return flat && new FlatEntry(seq, at, flat, sizeOf(flat))
}

const PLACE = /^\{"seq":\d+,"type":"([\w.]+)"(?:,"at":(\d+))?/

/** The type of an entry's part, without parsing it; undefined if the entry is damaged. */
export function typeOfEntry(entry: LogEntry): string | undefined {
  return entry instanceof FlatEntry ? entry.type : PLACE.exec(entry.json)?.[1]
}

/** When an entry's part was written, in milliseconds since the epoch, without parsing it; 0 if the entry is damaged. */
export function timeOfEntry(entry: LogEntry): number {
  return entry instanceof FlatEntry ? entry.at : Number(PLACE.exec(entry.json)?.[2] ?? 0)
}

// A copy: a runnable may change its part later.
function flatten(part: Part): Part | undefined {
  switch (part.type) {
    case 'text': {
      const { type, text } = part
      return hasFields(part, 2) && isPlain(text) ? { type, text } : undefined
    }
    case 'start': {
      const { type, runId, sessionId, kind, name } = part
      return hasFields(part, 5) ? { type, runId, sessionId, kind, name } : undefined
    }
    case 'step.start': {
      const { type, index, attempt } = part
      const isFlat = hasFields(part, 3) && areNumbers(index, attempt)
      return isFlat ? { type, index, attempt } : undefined
    }
    case 'step': {
      const { type, index } = part
      const usage = flattenUsage(part.usage)
      return hasFields(part, 3) && areNumbers(index) && usage ? { type, index, usage } : undefined
    }
    case 'finish': {
      const { type, finishReason, durationMs, structured } = part
      const usage = flattenUsage(part.usage)
      return hasFields(part, 5) && structured === null && usage
        ? { type, finishReason, usage, durationMs, structured }
        : undefined
    }
    default:
      return undefined
  }
}

function flattenUsage(usage: Usage): Usage | undefined {
  const { promptTokens, completionTokens, totalTokens } = usage
  const isFlat = hasFields(usage, 3) && areNumbers(promptTokens, completionTokens, totalTokens)
  return isFlat ? { promptTokens, completionTokens, totalTokens } : undefined
}

function hasFields(value: object, count: number): boolean {
  let found = 0
  for (const _ in value) found++
  return found === count
}

// Other numbers have no JSON.
function areNumbers(...values: readonly unknown[]): boolean {
  return values.every(Number.isFinite)
}

// Text without these characters is its own JSON, without escapes.
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const ESCAPED = /[\u0000-\u001f"\\\u2028\u2029\ud800-\udfff]/

function isPlain(text: unknown): boolean {
  return typeof text === 'string' && !ESCAPED.test(text)
}

// Approximate length of the JSON.
function sizeOf(part: Part): number {
  if (part.type === 'text') return part.text.length + 56
  if (part.type === 'start') return part.sessionId.length + part.name.length + 140
  return 'usage' in part ? 180 : 84
}
