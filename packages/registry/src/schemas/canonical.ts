import type { SchemaCheck } from './schema-check.ts'

/** A value as a text that is the same for equal values, whatever the order of their keys. @throws TooCostly */
export function canonical(value: unknown, check?: SchemaCheck): string {
  if (typeof value === 'string') check?.spend(8 + value.length / 4)
  else check?.spend(8)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, check)).join()}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key], check)}`)
  return `{${members.join()}}`
}
