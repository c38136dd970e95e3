import type { YieldedPart } from './part.ts'

/** Least milliseconds between two values; those of long answers are apart by a millisecond per KiB. */
const INTERVAL = 50
/** Bytes of an answer, beyond which there are no values. */
const MAX_BYTES = 1024 * 1024
const MAX_DEPTH = 64

/** What comes next in the JSON. */
type Place =
  | 'start'
  | 'value'
  | 'value-or-end'
  | 'key'
  | 'key-or-end'
  | 'in-key'
  | 'colon'
  | 'in-string'
  | 'in-scalar'
  | 'after-value'
  | 'over'

/**
 * The object or array that an agent with an `output` is writing, read from the parts of its run: texts are as long as they are so far,
 * keys without a value and unfinished numbers and literals are left out. Values grow until a step or an attempt begins anew, and are
 * not validated; `structured` is. There are none of an answer that is no JSON, has more than 1 MiB or is nested deeper than 64, nor of
 * members and steps of workflows.
 */
export class PartialObjects {
  #json = new OpenJson()
  // Otherwise the beginning of the text is not known.
  #isWhole = false
  #takenAt = -Infinity

  /** Takes the next part of the run; those before the first `start` or `step.start` have no effect. */
  add(part: YieldedPart): void {
    if (part.source?.length) return
    if (part.type === 'text') {
      if (this.#isWhole) this.#json.append(part.text)
    } else if (part.type === 'start' || part.type === 'step.start' || part.type === 'structured') {
      this.#isWhole = true
      if (!this.#json.isEmpty) this.#json = new OpenJson()
    }
  }

  /**
   * The value so far, made for the caller; undefined if it is the same as the last one, or that was taken less than 50 ms ago.
   * @param now milliseconds on a clock that is never set back
   */
  take(now: number = performance.now()): object | undefined {
    const wait = this.dueIn(now)
    if (wait === undefined || wait > 0) return undefined
    const value = this.#json.value()
    if (value !== undefined) this.#takenAt = now
    return value
  }

  /** Milliseconds until `take` may return a value; undefined if no text has come since. */
  dueIn(now: number = performance.now()): number | undefined {
    if (!this.#json.hasNews) return undefined
    const interval = Math.max(INTERVAL, this.#json.length / 1024)
    return Math.max(this.#takenAt + interval - now, 0)
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const GRAVE = 0x60

/** A line that opens a code fence, which models write before JSON. */
const FENCE = /^```[\w-]*[ \t]*\r?$/

/** JSON that is not at its end yet. It is scanned once, for where it can be closed; that it is JSON, its parser checks. */
class OpenJson {
  #text = ''
  #bytes = 0
  // What is scanned.
  #at = 0
  #place: Place = 'start'
  // Of the containers that are open, innermost first: their brackets.
  #closers = ''
  // The text from `#from` to `#end`, with brackets, is the value so far.
  #from = 0
  #end = 0
  #isChanged = false
  #isOver = false
  hasNews = false

  get isEmpty(): boolean {
    return this.#bytes === 0
  }

  get length(): number {
    return this.#text.length
  }

  append(text: string): void {
    this.#bytes += Buffer.byteLength(text)
    if (this.#isOver) return
    if (this.#bytes > MAX_BYTES) return this.#stop()
    this.#text += text
    this.hasNews = true
  }

  /** The value, unless it is the same as the last one, or the text is no JSON. */
  value(): object | undefined {
    this.hasNews = false
    if (!this.#isOver) this.#scan()
    const isChanged = this.#isChanged
    this.#isChanged = false
    const quote = this.#place === 'in-string' ? '"' : ''
    const json = isChanged ? this.#text.slice(this.#from, this.#end) + quote + this.#closers : ''
    if (this.#place === 'over') this.#stop()
    if (!isChanged) return undefined
    try {
      return JSON.parse(json) as object
    } catch {
      this.#stop()
      return undefined
    }
  }

  // Nothing that follows changes the value, or there is none.
  #stop(): void {
    this.#isOver = true
    this.#isChanged = this.hasNews = false
    this.#text = ''
  }

  #scan(): void {
    const text = this.#text
    while (this.#at < text.length && this.#place !== 'over' && !this.#isOver) {
      if (this.#place === 'in-string' || this.#place === 'in-key') {
        if (!this.#scanText()) return
      } else {
        const code = text.charCodeAt(this.#at)
        if (this.#place === 'in-scalar' && !endsScalar(code)) this.#at++
        else if (code === GRAVE && this.#place === 'start') {
          if (!this.#skipFence()) return
        } else this.#scanToken(code)
      }
    }
  }

  // False if more of its line has to come.
  #skipFence(): boolean {
    const lineEnd = this.#text.indexOf('\n', this.#at)
    if (lineEnd === -1) return false
    if (!FENCE.test(this.#text.slice(this.#at, lineEnd))) this.#stop()
    else this.#at = lineEnd + 1
    return true
  }

  // To the end of the string or key, or of what is whole of it; false if more has to come.
  #scanText(): boolean {
    const text = this.#text
    const isValue = this.#place === 'in-string'
    const from = this.#at
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === QUOTE) {
        if (isValue && this.#at > from) this.#isChanged = true
        this.#at++
        if (isValue) this.#end = this.#at
        this.#place = isValue ? 'after-value' : 'colon'
        return true
      }
      const size = sizeOfCharacter(text, this.#at, code)
      if (Number.isNaN(code) || size === 0) {
        if (isValue && this.#at > from) this.#advance(this.#at)
        return false
      }
      this.#at += size
    }
  }

  #scanToken(code: number): void {
    if (this.#place === 'in-scalar') {
      this.#place = 'after-value'
      this.#advance(this.#at)
    }
    if (isSpace(code)) {
      this.#at++
      return
    }
    switch (code) {
      case OPEN_OBJECT:
        return this.#open('}', 'key-or-end')
      case OPEN_ARRAY:
        return this.#open(']', 'value-or-end')
      case CLOSE_OBJECT:
        return this.#close('}', 'key-or-end')
      case CLOSE_ARRAY:
        return this.#close(']', 'value-or-end')
      case COMMA:
        if (this.#place !== 'after-value') return this.#stop()
        return this.#go(this.#closers.startsWith('}') ? 'key' : 'value')
      case COLON:
        return this.#place === 'colon' ? this.#go('value') : this.#stop()
      case QUOTE:
        if (this.#place === 'key' || this.#place === 'key-or-end') return this.#go('in-key')
        if (!this.#takesValue) return this.#stop()
        this.#go('in-string')
        return this.#advance(this.#at)
      default:
        return this.#takesValue ? this.#go('in-scalar') : this.#stop()
    }
  }

  // Text around JSON begins with neither bracket, so the start takes no other value.
  get #takesValue(): boolean {
    return this.#place === 'value' || this.#place === 'value-or-end'
  }

  #go(place: Place): void {
    this.#place = place
    this.#at++
  }

  #open(closer: string, place: Place): void {
    if (this.#place === 'start') this.#from = this.#at
    else if (!this.#takesValue) return this.#stop()
    if (this.#closers.length === MAX_DEPTH) return this.#stop()
    this.#closers = closer + this.#closers
    this.#go(place)
    this.#advance(this.#at)
  }

  #close(closer: string, ifEmpty: Place): void {
    if (this.#place !== 'after-value' && this.#place !== ifEmpty) return this.#stop()
    if (!this.#closers.startsWith(closer)) return this.#stop()
    this.#closers = this.#closers.slice(1)
    this.#go(this.#closers === '' ? 'over' : 'after-value')
    this.#end = this.#at
  }

  #advance(end: number): void {
    this.#end = end
    this.#isChanged = true
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function endsScalar(code: number): boolean {
  return isSpace(code) || code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT
}

/** Code units of a character in a string, escaped or not; 0 if it is not whole yet. */
function sizeOfCharacter(text: string, at: number, code: number): number {
  if (code !== BACKSLASH) return !isHighSurrogate(code) || at + 1 < text.length ? 1 : 0
  const escaped = text[at + 1]
  if (escaped === undefined) return 0
  if (escaped !== 'u') return 2
  if (at + 6 > text.length) return 0
  if (!isHighSurrogate(Number.parseInt(text.slice(at + 2, at + 6), 16))) return 6
  // The second half of a pair follows, or nothing that belongs to it.
  const rest = text.slice(at + 6, at + 12)
  if (!String.raw`\u`.startsWith(rest.slice(0, 2))) return 6
  return rest.length === 6 ? 12 : 0
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
