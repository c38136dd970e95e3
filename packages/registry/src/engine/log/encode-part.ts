import {
  compileCheck,
  copyJson,
  findFaults,
  formatFaults,
  PART_SCHEMAS,
  ZERO_USAGE,
  type LogEntry,
  type NumberedPart,
  type Part,
  type PartType,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_BAD_PART } from '@svc/contract/errors'
import { entryFromJson, TextEntry } from '@svc/contract/stores'

/**
 * Encodes a part at its place in the log, or one that has none: a transient part.
 * @throws RUN_ERR_BAD_PART if it has no JSON (a cycle, a BigInt)
 */
export function encodeJson(seq: number | undefined, at: number, part: Part): string {
  let json: string | undefined
  try {
    // These fields come first, and the engine's replace those that the part may carry.
    const placed = { seq, type: part.type, at, ...(part as object) }
    placed.seq = seq
    placed.at = at
    json = JSON.stringify(placed)
  } catch (err) {
    throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON`, { cause: err })
  }
  if (!json?.startsWith('{"')) throw new RUN_ERR_BAD_PART(`its ${part.type} has no JSON object`)
  return escapeLineEnds(json)
}

// Some event stream readers, and JavaScript before 2019, take these for line ends.
function escapeLineEnds(json: string): string {
  return json.replace(/[\u2028\u2029]/g, (end) =>
    end === '\u2028' ? String.raw`\u2028` : String.raw`\u2029`
  )
}

/**
 * An entry for a small part that is plain JSON, as the engine's own and most tool calls are. It keeps a copy of the part and encodes it
 * on first access: if the caller only awaits the result, the log is never read.
 */
export class PlainEntry implements LogEntry {
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
    return (this.#json ??= encodeJson(this.seq, this.at, this.#part))
  }

  /** The part without its place, of which `encodePart` makes an equal entry. */
  toJSON(): Part {
    return this.#part
  }

  // A new object each time, so callers cannot mutate the log.
  get part(): NumberedPart {
    const part = copyJson(this.#part)!.value as Part
    return { seq: this.seq, type: part.type, at: this.at, ...(part as object) } as NumberedPart
  }
}

/** Characters of JSON around the fields of a part, about. */
const PLACE_SIZE = 32

/** Returns an entry that is encoded later; undefined if the part must be encoded at once. */
function toPlainEntry(seq: number, at: number, part: Part): LogEntry | undefined {
  if (part.type === 'text') {
    const { text } = part
    return isPlain(text) && hasTwoFields(part) ? new TextEntry(seq, at, text) : undefined
  }
  if (!PLAIN_TYPES.has(part.type)) return undefined
  // A copy: a runnable may change its part later.
  const copy = copyJson(part)
  return copy && new PlainEntry(seq, at, copy.value as Part, copy.size + PLACE_SIZE)
}

const PLACE = /^\{"seq":\d+,"type":"([\w.]+)"(?:,"at":(\d+))?/

/** The type of an entry's part, without parsing it; undefined if the entry is damaged. */
export function typeOfEntry(entry: LogEntry): string | undefined {
  if (entry instanceof TextEntry) return 'text'
  return entry instanceof PlainEntry ? entry.type : PLACE.exec(entry.json)?.[1]
}

/** When an entry's part was written, in milliseconds since the epoch, without parsing it; 0 if the entry is damaged. */
export function timeOfEntry(entry: LogEntry): number {
  const isPlaced = entry instanceof TextEntry || entry instanceof PlainEntry
  return isPlaced ? entry.at : Number(PLACE.exec(entry.json)?.[2] ?? 0)
}

const PLAIN_TYPES = new Set<PartType>([
  'start',
  'step.start',
  'step',
  'finish',
  'tool.call',
  'tool.result',
  'tool.error'
])

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

/**
 * Encodes a part at its place in the log.
 * @param at milliseconds since the epoch
 * @throws RUN_ERR_BAD_PART if it has no JSON (a cycle, a BigInt)
 */
export function encodePart(seq: number, at: number, part: Part): LogEntry {
  return toPlainEntry(seq, at, part) ?? entryFromJson(seq, encodeJson(seq, at, part))
}

/** The time of a part that follows one of `at`, in milliseconds since the epoch: now, unless the clock was set back. */
export function timeAfter(at: number): number {
  const now = Date.now()
  return now < at ? at : now
}

// Parts that only the engine may write.
const WRITTEN_BY_ENGINE = new Set([
  'tool.approval.request',
  'tool.approval.response',
  'input.request',
  'input.response'
])
// By type, compiled with its first part.
const checks = new Map<string, ReturnType<typeof compileCheck>>()

/**
 * Checks that a yielded value is a part that runnables may yield, and completes it. The fields of `start` are not checked: the engine
 * writes its own.
 * @throws RUN_ERR_BAD_PART
 */
export function takePart(value: unknown): Part {
  const { type, text, source, toJSON } = (value ?? {}) as Record<string, unknown>
  if (toJSON !== undefined) throw new RUN_ERR_BAD_PART('toJSON would replace it')
  if (type === 'text' && typeof text === 'string' && source === undefined) return value as Part
  if (typeof type !== 'string' || !Object.hasOwn(PART_SCHEMAS, type))
    throw new RUN_ERR_BAD_PART(typeof type === 'string' ? `unknown type "${type.slice(0, 64)}"` : 'no type')
  if (WRITTEN_BY_ENGINE.has(type)) throw new RUN_ERR_BAD_PART(`${type} is written by the engine`)
  if (type === 'start') return value as Part
  const whole = wholePart(value as YieldedPart)
  const schema = PART_SCHEMAS[type as PartType]
  let check = checks.get(type)
  if (check === undefined) checks.set(type, (check = compileCheck(schema)))
  if (check.Check(whole)) return whole
  throw new RUN_ERR_BAD_PART(formatFaults(findFaults(schema, whole, { root: type, limit: 1 })))
}

/** Fills in omitted fields, and null for values without JSON. */
function wholePart(part: YieldedPart): Part {
  switch (part.type) {
    case 'tool.call':
      return hasJson(part.args) ? part : { ...part, args: null }
    case 'tool.result':
      return hasJson(part.result) ? part : { ...part, result: null }
    case 'data':
    case 'structured':
      return hasJson(part.value) ? part : { ...part, value: null }
    case 'finish': {
      const { structured } = part
      const whole = { usage: ZERO_USAGE, durationMs: 0, ...part }
      return { ...whole, structured: hasJson(structured) ? structured : null }
    }
    default:
      return part
  }
}

function hasJson(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}
