import type { LogEntry, NumberedPart, Part, PartType } from '@svc/contract'
import { TextEntry } from '@svc/contract/stores'
import { encodeJson } from './encode-json.ts'

/**
 * An entry for a part with few plain fields, as the engine's own are. It keeps the fields and encodes the JSON on first access: if
 * the caller only awaits the result, the log is never read.
 */
class FlatEntry implements LogEntry {
  readonly seq: number
  readonly at: number
  readonly #part: Part
  #json: string | undefined

  constructor(seq: number, at: number, part: Part) {
    this.seq = seq
    this.at = at
    this.#part = part
  }

  get type(): PartType {
    return this.#part.type
  }

  get size(): number {
    return sizeOf(this.#part)
  }

  get json(): string {
    return (this.#json ??= encodeJson(this.seq, this.at, this.#part))
  }

  // A new object each time, so callers cannot mutate the log.
  get part(): NumberedPart {
    const part = copyFields(this.#part)
    return { seq: this.seq, type: part.type, at: this.at, ...(part as object) } as NumberedPart
  }
}

/** Returns a flat entry for the part; undefined if it has fields that must be encoded at once. */
export function toFlatEntry(seq: number, at: number, part: Part): LogEntry | undefined {
  if (part.type === 'text') {
    const { text } = part
    return isPlain(text) && hasTwoFields(part) ? new TextEntry(seq, at, text) : undefined
  }
  if (!FLAT_TYPES.has(part.type)) return undefined
  // A copy: a runnable may change its part later.
  const flat = copyFields(part)
  return isFlat(flat) ? new FlatEntry(seq, at, flat) : undefined
}

const PLACE = /^\{"seq":\d+,"type":"([\w.]+)"(?:,"at":(\d+))?/

/** The type of an entry's part, without parsing it; undefined if the entry is damaged. */
export function typeOfEntry(entry: LogEntry): string | undefined {
  if (entry instanceof TextEntry) return 'text'
  return entry instanceof FlatEntry ? entry.type : PLACE.exec(entry.json)?.[1]
}

/** When an entry's part was written, in milliseconds since the epoch, without parsing it; 0 if the entry is damaged. */
export function timeOfEntry(entry: LogEntry): number {
  const isPlaced = entry instanceof TextEntry || entry instanceof FlatEntry
  return isPlaced ? entry.at : Number(PLACE.exec(entry.json)?.[2] ?? 0)
}

const FLAT_TYPES = new Set<PartType>(['start', 'step.start', 'step', 'finish'])

function copyFields(part: Part): Part {
  const copy = { ...part }
  if ('usage' in copy && copy.usage !== undefined) copy.usage = { ...copy.usage }
  if ('model' in copy && copy.model !== undefined) copy.model = { ...copy.model }
  return copy
}

function isFlat(part: object): boolean {
  const fields = part as Record<string, unknown>
  for (const name in fields) {
    const value = fields[name]
    const isGroup = (name === 'usage' || name === 'model') && typeof value === 'object' && value !== null
    if (isGroup ? !isFlat(value) : !isScalar(value)) return false
  }
  return true
}

// Other numbers have no JSON.
function isScalar(value: unknown): boolean {
  return typeof value === 'string' || value === null || typeof value === 'boolean' || Number.isFinite(value)
}

function hasTwoFields(value: object): boolean {
  let found = 0
  for (const _ in value) found++
  return found === 2
}

// Text without these characters is its own JSON, without escapes.
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const ESCAPED = /[\u0000-\u001f"\\\u2028\u2029\ud800-\udfff]/

function isPlain(text: unknown): boolean {
  return typeof text === 'string' && !ESCAPED.test(text)
}

// Approximate length of the JSON.
function sizeOf(value: object): number {
  let size = 32
  const fields = value as Record<string, unknown>
  for (const name in fields) {
    const field = fields[name]
    size += name.length + 4
    if (typeof field === 'string') size += field.length + 2
    else size += typeof field === 'object' && field !== null ? sizeOf(field) : 8
  }
  return size
}
