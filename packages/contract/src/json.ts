import { Readable } from 'node:stream'

/**
 * Explains why a value from untrusted JSON is unsafe; undefined if it is safe: nested at most `levels` deep, no keys that reach a
 * prototype, no lone surrogates (no text encoding can carry them), nothing binary.
 */
export function findJsonFault(value: unknown, levels: number): string | undefined {
  if (typeof value === 'string') return textFault(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return 'it is nested too deep'
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return 'it is binary'
  if (Array.isArray(value)) {
    for (const item of value) {
      const fault = findJsonFault(item, levels - 1)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    const fault = keyFault(key, object[key]) ?? findJsonFault(object[key], levels - 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

function textFault(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'it has half of a surrogate pair'
}

function keyFault(key: string, value: unknown): string | undefined {
  return reachesPrototype(key, value) ? 'it has a forbidden key' : textFault(key)
}

function reachesPrototype(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}

/** A copy of plain JSON. */
export interface JsonCopy {
  readonly value: unknown
  /** Characters of its JSON, about: its bytes are at most six times as many. */
  readonly size: number
}

// Beyond, a copy costs as much as encoding.
const MAX_COPY = 4_096
const MAX_COPY_DEPTH = 16
const NOT_PLAIN = Symbol('not plain')

/**
 * Copies a value that is JSON already, and small: the copy equals what encoding and parsing would make of it, for a part of the cost.
 * Undefined for any other: where JSON drops, replaces or escapes something, with halves of surrogate pairs, or over 4,096 characters.
 */
export function copyJson(value: unknown): JsonCopy | undefined {
  const count = { size: 0 }
  try {
    const copy = copyPlain(value, count, MAX_COPY_DEPTH)
    return copy === NOT_PLAIN ? undefined : { value: copy, size: count.size }
  } catch {
    // A getter that throws.
    return undefined
  }
}

function copyPlain(value: unknown, count: { size: number }, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      count.size += value.length + 2
      return count.size <= MAX_COPY && value.isWellFormed() ? value : NOT_PLAIN
    case 'number':
      count.size += 8
      // JSON has no sign of zero.
      return Number.isFinite(value) && !Object.is(value, -0) ? value : NOT_PLAIN
    case 'boolean':
      count.size += 5
      return value
    case 'object':
      if (value !== null) return copyInto(value, count, depth)
      count.size += 4
      return value
    default:
      return NOT_PLAIN
  }
}

function copyInto(value: object, count: { size: number }, depth: number): unknown {
  if (depth === 0) return NOT_PLAIN
  count.size += 2
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype || value.length > MAX_COPY) return NOT_PLAIN
    const list: unknown[] = value.slice()
    for (let index = 0; index < list.length; index++) {
      count.size++
      const item = copyPlain(list[index], count, depth - 1)
      if (item === NOT_PLAIN || count.size > MAX_COPY) return NOT_PLAIN
      list[index] = item
    }
    return list
  }
  if (prototype !== Object.prototype && prototype !== null) return NOT_PLAIN
  const copy = { ...value } as Record<string, unknown>
  for (const key in copy) {
    count.size += key.length + 4
    const field = copy[key]
    const item = copyPlain(field, count, depth - 1)
    if (item === NOT_PLAIN || count.size > MAX_COPY || key === '__proto__' || !key.isWellFormed())
      return NOT_PLAIN
    if (item !== field) copy[key] = item
  }
  return copy
}

/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

const waiting: (() => void)[] = []
let callbacks: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, one caller per turn, in call order. However much long work is in progress, each turn
 * has one slice of it, and other work is served in between.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(advance)
  })
}

/**
 * Calls back in the next turn of the event loop, all callers in the same one. Work of a turn is then done before its outcomes are
 * delivered: a reply written between two runs would cost the second one its caches. The callback must not throw.
 */
export function callNextTurn(callback: () => void): void {
  if (callbacks.push(callback) === 1) setImmediate(callAll)
}

/**
 * Creates a pause for long work to await between its pieces: it yields to the event loop once the time slice is used up.
 * @param slice milliseconds; default 5
 */
export function createPause(slice: number = SLICE): () => Promise<void> {
  let end = performance.now() + slice
  return async () => {
    if (performance.now() < end) return
    await nextTurn()
    end = performance.now() + slice
  }
}

function advance(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(advance)
}

function callAll(): void {
  const due = callbacks
  callbacks = []
  for (const callback of due) callback()
}

/** The approximate length of a piece: small enough that its memory is soon freed. */
const PIECE = 32_768

/** The depth to which values are measured; deeper ones are encoded level by level. */
const MAX_DEPTH = 64

/** Types of values that `JSON.stringify` omits. */
const WITHOUT_JSON: ReadonlySet<string> = new Set(['undefined', 'function', 'symbol'])

/** The JSON of a value in consecutive pieces, cut anywhere; no pieces if there is no value. */
export type JsonPieces = Iterable<string> | AsyncIterable<string>

/** Estimates the length of a value's JSON; beyond the limit it stops and returns more than the limit. */
export function estimateLength(value: unknown, limit: number): number {
  return limit - measure(value, limit, 0)
}

/** True if the JSON of a value has about `limit` characters at most. */
export function isShort(value: unknown, limit: number): boolean {
  return estimateLength(value, limit) <= limit
}

/**
 * Encodes plain JSON like `JSON.stringify`, but in pieces: each is created on demand, so that no turn of the event loop encodes all
 * of a large value. The value must not change in the meantime.
 */
export function* encodePieces(value: unknown): Generator<string, void, void> {
  if (isShort(value, PIECE)) return yield JSON.stringify(value)
  const open: Members[] = []
  let text = ''
  for (let long = value; ;) {
    if (typeof long === 'string') {
      text += '"'
      for (const cut of cutText(long)) {
        yield text + JSON.stringify(cut).slice(1, -1)
        text = ''
      }
      text += '"'
    } else {
      const members = new Members(long as object)
      open.push(members)
      text += members.begin
    }

    do {
      if (text.length >= PIECE) {
        yield text
        text = ''
      }
      const members = open.at(-1)
      if (members === undefined) return yield text
      const next = members.next()
      if (next === undefined) open.pop()
      text += next?.text ?? members.end
      long = next?.long
    } while (long === undefined)
  }
}

/** Cuts a text to at most `length` characters, without splitting a surrogate pair. */
export function beginningOf(text: string, length: number): string {
  return text.slice(0, isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length)
}

function* cutText(text: string): Generator<string, void, void> {
  for (let start = 0; start < text.length;) {
    const piece = beginningOf(text.slice(start, start + PIECE), PIECE)
    yield piece
    start += piece.length
  }
}

/** The members of a long object or list, in batches of about one piece. */
class Members {
  readonly begin: string
  readonly end: string
  readonly #of: Readonly<Record<string | number, unknown>>
  readonly #names: readonly string[] | undefined
  readonly #count: number
  #done = 0

  constructor(of: object) {
    this.#of = of as Readonly<Record<string, unknown>>
    this.#names = Array.isArray(of) ? undefined : namesOf(this.#of)
    this.#count = this.#names?.length ?? (of as unknown[]).length
    this.begin = this.#names ? '{' : '['
    this.end = this.#names ? '}' : ']'
  }

  /** The next members as JSON, or the text before a member that is itself long; undefined at the end. */
  next(): { text: string; long?: unknown } | undefined {
    if (this.#done === this.#count) return undefined
    const comma = this.#done === 0 ? '' : ','
    const batch: [string | number, unknown][] = []
    for (let left = PIECE; this.#done < this.#count; this.#done++) {
      const name = this.#names?.[this.#done] ?? this.#done
      left = measure(this.#of[name], left - String(name).length, 0)
      if (left < 0) break
      batch.push([name, this.#of[name]])
    }
    if (batch.length > 0) {
      const members = this.#names ? Object.fromEntries(batch) : batch.map(([, item]) => item)
      return { text: comma + JSON.stringify(members).slice(1, -1) }
    }
    const name = this.#names?.[this.#done] ?? this.#done
    this.#done++
    const text = this.#names ? `${comma}${JSON.stringify(name)}:` : comma
    const item = this.#of[name]
    // Only the name is long.
    if (isShort(item, PIECE)) return { text: text + JSON.stringify(item) }
    return { text, long: item }
  }
}

// Values without JSON are omitted.
function namesOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(value).filter((name) => !WITHOUT_JSON.has(typeof value[name]))
}

// The rest of the limit; negative if it is exceeded.
function measure(value: unknown, left: number, depth: number): number {
  if (typeof value === 'string') return left - value.length - 2
  if (typeof value !== 'object' || value === null) return left - 5
  if (depth > MAX_DEPTH) return -1
  let rest = left - 2
  if (Array.isArray(value)) {
    for (const item of value) if ((rest = measure(item, rest - 1, depth + 1)) < 0) break
  } else {
    for (const name in value) {
      rest = measure((value as Readonly<Record<string, unknown>>)[name], rest - name.length - 4, depth + 1)
      if (rest < 0) break
    }
  }
  return rest
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Streams pieces of JSON, one per turn of the event loop, with backpressure. */
export function createJsonStream(pieces: JsonPieces): Readable {
  // As strings, which the connection encodes outside the heap.
  return Readable.from(oneATurn(pieces), { objectMode: true, highWaterMark: 1 })
}

async function* oneATurn(pieces: JsonPieces): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece
    await nextTurn()
  }
  // A generator that is done keeps its arguments as they were when it last waited: a large value would last as long as its reply.
  pieces = []
  await Promise.resolve()
}

type Optional<Fields> = {
  [Name in keyof Fields]-?: undefined extends Fields[Name] ? Name : never
}[keyof Fields]

/** Fields of which those that may be undefined are optional instead. */
export type Defined<Fields extends object> = Omit<Fields, Optional<Fields>> & {
  [Name in Optional<Fields>]?: Exclude<Fields[Name], undefined>
}

/** Copies an object without the fields that are undefined, so that they are absent and take no default's place. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const result: Partial<Fields> = {}
  for (const name of Object.keys(fields) as (keyof Fields)[])
    if (fields[name] !== undefined) result[name] = fields[name]
  return result as Defined<Fields>
}
