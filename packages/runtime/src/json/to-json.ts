import { MAX_DEPTH } from './json-faults.ts'

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
