import {
  PartSchema,
  REDACTED,
  RunRecordSchema,
  SessionMessageSchema,
  toLoggable,
  type Redact,
  type RunLog
} from '@svc/contract'

/** Shorter keys are not secret; they would match parts of ordinary words. */
const MIN_LENGTH = 8

/** A secret with its failure table, to find it in one pass over a text (Knuth, Morris and Pratt). */
export interface Secret {
  readonly text: string
  /** KMP failure table: the length of the longest border of each prefix. */
  readonly borders: readonly number[]
}

/** The distinct keys worth hiding; keys that occur in the vocabulary of every answer are not secret. */
export function secretsAmong(keys: readonly string[]): Secret[] {
  return [...new Set(keys)].filter((key) => key.length >= MIN_LENGTH && !isVocabulary(key)).map(toSecret)
}

/** One KMP step: the length of the matched prefix of the secret after `matched` characters and the next character `code`. */
function advance({ text, borders }: Secret, matched: number, code: number): number {
  while (matched > 0 && text.charCodeAt(matched) !== code) matched = borders[matched - 1]!
  return text.charCodeAt(matched) === code ? matched + 1 : matched
}

function toSecret(text: string): Secret {
  const borders = [0]
  for (let at = 1; at < text.length; at++)
    borders.push(advance({ text, borders }, borders[at - 1]!, text.charCodeAt(at)))
  return { text, borders }
}

const SCHEMAS = [PartSchema, RunRecordSchema, SessionMessageSchema]
const WORDS = JSON.stringify(SCHEMAS, (name, value: unknown) => (name === 'description' ? undefined : value))

// Redacting a name or literal of parts, records and sessions would make them unreadable.
function isVocabulary(text: string): boolean {
  return WORDS.includes(text)
}

interface Span {
  readonly start: number
  end: number
}

/**
 * Redacts secrets from text that arrives in chunks. A possible beginning of a secret is held back until the next chunk: at most the
 * longest secret less one character. The joined output does not depend on how the text is cut; overlapping secrets count as one.
 * Takes time linear in the text.
 */
export class RedactedText {
  readonly #secrets: readonly Secret[]
  // For each secret, the length of its longest proper prefix that ends the text so far.
  readonly #matched: number[]
  // Text that is not emitted yet.
  #held = ''
  // The secrets found in it.
  #found: Span[] = []
  // How many of its first characters end a secret that is already emitted as redacted.
  #covered = 0

  constructor(secrets: readonly Secret[]) {
    this.#secrets = secrets
    this.#matched = secrets.map(() => 0)
  }

  /** True if the next chunk may complete a secret; if false, nothing is held back. */
  get open(): boolean {
    return this.#matched.some((count) => count > 0)
  }

  /** Takes a chunk and returns the text that is safe to emit. */
  add(increment: string): string {
    const text = this.#held + increment
    this.#secrets.forEach((_, index) => this.#search(index, text, this.#held.length))
    return this.#emit(text, Math.max(0, text.length - Math.max(...this.#matched)))
  }

  /** Returns the text held back. If it was the beginning of a secret, only the rest of that secret is redacted later. */
  flush(): string {
    return this.#emit(this.#held, this.#held.length)
  }

  #search(index: number, text: string, from: number): void {
    const secret = this.#secrets[index]!
    const { length } = secret.text
    let matched = this.#matched[index]!
    for (let at = from; at < text.length; at++) {
      if (matched === 0) {
        at = text.indexOf(secret.text[0]!, at)
        if (at === -1) break
      }
      matched = advance(secret, matched, text.charCodeAt(at))
      if (matched < length) continue
      // Its beginning may have been emitted already.
      this.#find(Math.max(0, at + 1 - length), at + 1)
      matched = secret.borders[length - 1]!
    }
    this.#matched[index] = matched
  }

  #find(start: number, end: number): void {
    const last = this.#found.at(-1)
    if (last !== undefined && last.start <= start && start < last.end) last.end = Math.max(last.end, end)
    else this.#found.push({ start, end })
  }

  // Emits the text up to an index before which no future secret begins.
  #emit(text: string, until: number): string {
    const later: Span[] = []
    let output = ''
    let at = this.#covered
    for (const span of this.#found.sort((a, b) => a.start - b.start)) {
      if (span.start >= until) later.push({ start: span.start - until, end: span.end - until })
      else {
        if (span.start >= at) output += text.slice(at, span.start) + REDACTED
        at = Math.max(at, span.end)
      }
    }
    if (at < until) output += text.slice(at, until)
    this.#held = text.slice(until)
    this.#found = later
    this.#covered = Math.max(0, at - until)
    return output
  }
}

/** Redacts secrets from a text. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  if (!secrets.some((secret) => text.includes(secret.text))) return text
  const redacted = new RedactedText(secrets)
  return redacted.add(text) + redacted.flush()
}

/** Creates a `Redact` for these keys; undefined if none of them is worth hiding. */
export function createRedact(keys: readonly string[]): Redact | undefined {
  const secrets = secretsAmong(keys)
  if (secrets.length === 0) return undefined
  const inJson = secrets.map((secret) => JSON.stringify(secret.text).slice(1, -1))

  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return withoutSecrets(value, secrets)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(clean)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [withoutSecrets(name, secrets), clean(each)])
    )
  }
  const redact = <T>(value: T): T => {
    const json = toJson(value)
    if (json === undefined || !inJson.some((secret) => json.includes(secret))) return value
    return clean(JSON.parse(json)) as T
  }
  return Object.assign(redact, { text: () => new RedactedText(secrets) })
}

// Values without JSON never leave the run.
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** The depth to which objects and lists are redacted; deeper ones are replaced. */
const MAX_DEPTH = 6

/** Wraps a log so that these keys never appear in it, whatever runnables, models or their errors contain. */
export function redactLog(log: RunLog, keys: readonly string[]): RunLog {
  const secrets = secretsAmong(keys)
  if (secrets.length === 0) return log

  const cleanText = (text: string) => withoutSecrets(text, secrets)
  const clean = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return cleanText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth === 0) return REDACTED
    if (value instanceof Error) return clean(toLoggable(value), depth - 1)
    if (Array.isArray(value)) return value.map((each) => clean(each, depth - 1))
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') return clean(toJSON.call(value), depth - 1)
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [cleanText(name), clean(each, depth - 1)])
    )
  }
  const write = (level: keyof RunLog) => (details: object, message?: string) =>
    log[level](
      clean(details, MAX_DEPTH) as object,
      typeof message === 'string' ? cleanText(message) : message
    )
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
