import { copyJson } from '@svc/contract'
import { RUN_ERR_TOOL_BAD_OUTPUT, RUN_ERR_TOOL_OUTPUT_TOO_LARGE } from '../errors.ts'

/** Maximum nesting depth of JSON in a run's log or a prompt. */
export const MAX_DEPTH = 128

/** True if a JSON value is nested deeper than `depth`; recurses no deeper than that. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], depth - 1)) return true
  }
  return false
}

/** Describes why JSON of a program is refused: it is nested too deep, or has a key `__proto__`, unsafe to copy. */
export function jsonFaultOf(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `it is nested deeper than ${MAX_DEPTH}`
  return hasProto(value) ? 'it has a key __proto__' : undefined
}

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(hasProto)
}

/**
 * A value without halves of surrogate pairs in its texts and keys, which providers and databases refuse; U+FFFD replaces them. Returns
 * the value itself if it has none. Objects that are not plain stay as they are.
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (replaceHalves(value) as T)
}

/** Parses JSON, without halves of surrogate pairs. @throws SyntaxError */
function parseWellFormed(json: string): unknown {
  const value: unknown = JSON.parse(json)
  return ESCAPED_HALF.test(json) || !json.isWellFormed() ? wellFormed(value) : value
}

// Of pairs too: a value that has none costs one look more.
const ESCAPED_HALF = /\\ud[89a-f]/i

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isPlain(value)) return true
  for (const key in value) if (!key.isWellFormed() || !isWellFormed(value[key])) return false
  return true
}

function replaceHalves(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(replaceHalves)
  if (!isPlain(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key.toWellFormed(), replaceHalves(each)])
  )
}

/** True for an object of no class, as JSON and literals make them. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Parses the arguments of a tool call; returns the text itself and its `fault` if it is not JSON. */
export function parseArgs(text: string): { args: unknown; fault?: string } {
  if (typeof text !== 'string' || text.trim() === '') return { args: {} }
  try {
    // Models write null for the arguments of a tool that takes none.
    const args = parseWellFormed(text) ?? {}
    if (isDeeperThan(args, MAX_DEPTH))
      return { args: text, fault: `they are nested deeper than ${MAX_DEPTH}` }
    return { args }
  } catch (err) {
    return { args: text, fault: `they are not JSON: ${(err as Error).message}` }
  }
}

const FENCED = /^```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/

/** Parses a model's answer as JSON, with or without a code fence; undefined if it is not JSON. */
export function readJson(text: string): unknown {
  const trimmed = text.trim()
  try {
    const value: unknown = JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed)
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}

type Dropped = undefined | symbol | ((...args: never[]) => unknown)

/** A type as it comes back from JSON: a `Date` is a string, `undefined` in a list is null, methods are gone. */
export type FromJson<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null
    ? T
    : T extends { toJSON(): infer Json }
      ? FromJson<Json>
      : T extends Dropped | bigint
        ? never
        : T extends readonly unknown[]
          ? {
              -readonly [Index in keyof T]:
                | FromJson<T[Index]>
                | ([Extract<T[Index], Dropped>] extends [never] ? never : null)
            }
          : {
              -readonly [
                Key in keyof T as Key extends symbol ? never : T[Key] extends Dropped ? never : Key
              ]: FromJson<T[Key]>
            }

/**
 * Serializes a value. @throws the error of `fail` for a cycle, a BigInt, a function, a getter that throws, and for an object whose
 * content JSON would drop, at any depth: a Map, an Error, a Response; `cause` is the error of the serializer
 */
export function toJson(value: unknown, fail: (fault: string, cause?: unknown) => Error): string {
  let json: string | undefined
  let lost: string | undefined
  try {
    // First, since it ends at a cycle.
    json = JSON.stringify(value) as string | undefined
    lost = lostIn(value)
  } catch (err) {
    throw fail('it cannot be serialized as JSON', err)
  }
  if (lost !== undefined) throw fail(`${lost}; return an object or an array`)
  if (json === undefined) throw fail(`it is a ${typeof value}`)
  return json
}

// What JSON drops of a value: a name for each class whose objects would become `{}` or lose their entries.
function lostIn(value: unknown, path = '', depth = 0): string | undefined {
  // Deeper values are refused later.
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const lost = lostIn(value[index], `${path}/${index}`, depth + 1)
      if (lost !== undefined) return lost
    }
    return undefined
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    const { toJSON } = value as { toJSON?: unknown }
    // A value that becomes another one.
    if (typeof toJSON === 'function') return undefined
    const name = classOf(value)
    if (name !== undefined) return path === '' ? `it is ${name}` : `its ${path.slice(1)} is ${name}`
  }
  for (const key of Object.keys(value)) {
    const lost = lostIn((value as Record<string, unknown>)[key], `${path}/${key}`, depth + 1)
    if (lost !== undefined) return lost
  }
  return undefined
}

// These may have fields of their own, and lose the rest.
const LOSING = new Set(['Map', 'Set', 'Error'])
// Objects of the app's own classes, and of the classes of primitive values.
const KEPT = new Set(['Object', 'String', 'Number', 'Boolean'])

// By their tags, so that the classes of other realms and of polyfills count too.
function classOf(value: object): string | undefined {
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  const isError = tag === 'Error' || value instanceof Error
  const name = isError ? 'Error' : tag
  if (KEPT.has(name) || !(LOSING.has(name) || Object.keys(value).length === 0)) return undefined
  return `${/^[AEIOU](?!RL)/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * Copies a tool's result as plain JSON data, without halves of surrogate pairs; undefined becomes null.
 * @throws RUN_ERR_TOOL_BAD_OUTPUT for a value without JSON: a cycle, a BigInt, a function, a Map or Set, a getter that throws
 * @throws RUN_ERR_TOOL_OUTPUT_TOO_LARGE if its JSON has more than `maxBytes` bytes
 */
export function toToolOutput(value: unknown, maxBytes: number): unknown {
  if (value === undefined || value === null) return null
  const copy = typeof value === 'string' ? undefined : copyJson(value)
  if (copy !== undefined && copy.size * 6 <= maxBytes) return copy.value
  const text = typeof value === 'string' ? value.toWellFormed() : toJson(value, toFault)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(bytes, maxBytes)
  if (typeof value === 'string') return text
  const output = parseWellFormed(text)
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_TOOL_BAD_OUTPUT(`it is nested deeper than ${MAX_DEPTH}`)
  return output
}

function toFault(fault: string, cause?: unknown): Error {
  return new RUN_ERR_TOOL_BAD_OUTPUT(messageOf(cause, fault))
}

const MAX_MESSAGE = 1_000

/** The message of a thrown value, at most 1,000 characters. Safe for any value, even one whose getters throw. */
export function messageOf(thrown: unknown, otherwise: string): string {
  try {
    const message =
      typeof thrown === 'string' ? thrown : (thrown as { message?: unknown } | null | undefined)?.message
    if (typeof message === 'string' && message !== '') return message.slice(0, MAX_MESSAGE).toWellFormed()
  } catch {
    // A throwing getter or Proxy has no message.
  }
  return otherwise
}
