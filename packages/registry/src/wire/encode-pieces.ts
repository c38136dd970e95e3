import { Readable } from 'node:stream'
import { nextTurn } from '../next-turn.ts'

/** Characters of a piece, about: few enough that its memory is free again soon. */
const PIECE = 32_768

/** Nesting that is measured; what is deeper is encoded level by level. */
const MAX_DEPTH = 64

/** Types of values that `JSON.stringify` leaves out. */
const WITHOUT_JSON: ReadonlySet<string> = new Set(['undefined', 'function', 'symbol'])

/** The JSON of a value, cut anywhere: the pieces one after the other, where there are any. */
export type JsonPieces = Iterable<string> | AsyncIterable<string>

/** Characters of the JSON of a value, about; of a longer one than the limit more than that: it looks no further. */
export function estimateLength(value: unknown, limit: number): number {
  return limit - measure(value, limit, 0)
}

/** Whether the JSON of a value has at most so many characters, about. */
export function isShort(value: unknown, limit: number): boolean {
  return estimateLength(value, limit) <= limit
}

/**
 * The JSON of a value of plain JSON, as of `JSON.stringify`, in pieces: each is made when it is asked for, so that no turn of
 * the event loop has to encode all of a large value. It must not change meanwhile.
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

/** The beginning of a text, of at most so many characters, without half of a surrogate pair. */
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

/** The members of a long object or list, as many at a time as make a piece. */
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

  /** The next ones as JSON, or what stands before one that is long itself; undefined when there are no more. */
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
    // Where the name alone is long.
    if (isShort(item, PIECE)) return { text: text + JSON.stringify(item) }
    return { text, long: item }
  }
}

// What has no JSON has no member.
function namesOf(value: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(value).filter((name) => !WITHOUT_JSON.has(typeof value[name]))
}

// What is left of the limit; below zero where it does not suffice.
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

/** Pieces of JSON to be sent, one a turn of the event loop and no faster than they are read. */
export function createJsonStream(pieces: JsonPieces): Readable {
  // As texts: a connection makes bytes of them outside of the heap.
  return Readable.from(oneATurn(pieces), { objectMode: true, highWaterMark: 1 })
}

async function* oneATurn(pieces: JsonPieces): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    yield piece
    await nextTurn()
  }
}
