import { isDeeperThan, MAX_DEPTH } from '../tools/json-depth.ts'

/** What is wrong with JSON data that a program gave: it is nested too deep, or would change a prototype where it is copied. */
export function faultOf(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `it is nested deeper than ${MAX_DEPTH}`
  return hasProto(value) ? 'it has a key __proto__' : undefined
}

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(hasProto)
}
