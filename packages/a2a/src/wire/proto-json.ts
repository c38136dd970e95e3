import { STATES } from './states.ts'

/** Objects with keys of the caller's own. */
const OPEN = new Set(['metadata', 'data'])

// In a proto an empty string is the same as an unset field.
const UNSET_WHEN_EMPTY = new Set([
  'tenant',
  'contextId',
  'taskId',
  'id',
  'configId',
  'filename',
  'mediaType',
  'token'
])

/** Integers, which may be strings. */
const INTEGERS = new Set(['historyLength', 'pageSize'])

/** Names of enums, which may be numbers, in the order of those. */
const ENUMS = new Map([
  ['role', ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT']],
  ['status', Object.values(STATES)]
])

/**
 * Normalizes the spellings of ProtoJSON: keys in `snake_case`, integers as strings, enums as numbers, and nulls. Metadata and
 * data, which the protocol does not define, stay unchanged.
 * @see https://protobuf.dev/programming-guides/json/
 */
export function fromProtoJson(value: unknown): unknown {
  // Most requests are normalized already and need no copy.
  return isSpelled(value) ? value : respell(value)
}

function isSpelled(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isSpelled)
  for (const key in value) {
    const each = (value as Record<string, unknown>)[key]
    if (key.includes('_') || (each === null && key !== 'data')) return false
    if (OPEN.has(key)) continue
    if (typeof each === 'object' ? !isSpelled(each) : toScalar(key, each) !== each) return false
  }
  return true
}

function respell(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(respell)
  const result: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) {
    if (each === null && key !== 'data') continue
    const name = key.includes('_') ? toCamelCase(key) : key
    const read = OPEN.has(name) ? each : typeof each === 'object' ? respell(each) : toScalar(name, each)
    if (read !== undefined) result[name] = read
  }
  return result
}

// Undefined if the field is unset.
function toScalar(name: string, value: unknown): unknown {
  if (value === '' && UNSET_WHEN_EMPTY.has(name)) return undefined
  if (INTEGERS.has(name)) return isInteger(value) ? Number(value) : value
  const names = ENUMS.get(name)
  return (names !== undefined && isInteger(value) && names[Number(value)]) || value
}

function isInteger(value: unknown): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d{1,15}$/.test(value))
}

function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
