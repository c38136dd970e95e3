import {
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
import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'

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
function toFlatEntry(seq: number, at: number, part: Part): LogEntry | undefined {
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

/**
 * Encodes a part at its place in the log.
 * @param at milliseconds since the epoch
 * @throws RUN_ERR_BAD_PART if it has no JSON (a cycle, a BigInt)
 */
export function encodePart(seq: number, at: number, part: Part): LogEntry {
  return toFlatEntry(seq, at, part) ?? entryFromJson(seq, encodeJson(seq, at, part))
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
const checks = new Map<string, TypeCheck<TSchema>>()

/**
 * Checks that a yielded value is a part that runnables may yield. The fields of `start` are not checked: the engine writes its
 * own.
 * @throws RUN_ERR_BAD_PART
 */
export function requirePart(value: unknown): asserts value is YieldedPart {
  const { type, text, source, toJSON } = (value ?? {}) as Record<string, unknown>
  if (toJSON !== undefined) throw new RUN_ERR_BAD_PART('toJSON would replace it')
  if (type === 'text' && typeof text === 'string' && source === undefined) return
  if (typeof type !== 'string' || !Object.hasOwn(PART_SCHEMAS, type))
    throw new RUN_ERR_BAD_PART(typeof type === 'string' ? `unknown type "${type.slice(0, 64)}"` : 'no type')
  if (WRITTEN_BY_ENGINE.has(type)) throw new RUN_ERR_BAD_PART(`${type} is written by the engine`)
  if (type === 'start') return
  const check = checkFor(type as PartType)
  const whole = wholePart(value as YieldedPart)
  if (check.Check(whole)) return
  throw new RUN_ERR_BAD_PART(
    formatFaults(findFaults(PART_SCHEMAS[type as PartType], whole, { root: type, limit: 1 }))
  )
}

/** Fills in omitted fields, and null for values without JSON. */
export function wholePart(part: YieldedPart): Part {
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

function checkFor(type: PartType): TypeCheck<TSchema> {
  let check = checks.get(type)
  if (check === undefined) checks.set(type, (check = TypeCompiler.Compile(PART_SCHEMAS[type])))
  return check
}
