import { isUtf8 } from 'node:buffer'

/** An error to throw, made with what is wrong. */
export type FaultClass = new (fault: string) => Error

/**
 * Decodes JSON in UTF-8 that is harmless to whatever handles it later: nested at most `maxDepth` levels, no key that reaches
 * a prototype, and no half of a surrogate pair, which no encoding of text could carry.
 * @throws the given error
 */
export function decodeJson(bytes: Buffer, maxDepth: number, BadJson: FaultClass): unknown {
  if (bytes.length === 0) throw new BadJson('the body is empty')
  if (!isUtf8(bytes)) throw new BadJson('it is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    throw new BadJson('it cannot be parsed')
  }
  const fault = faultOf(value, maxDepth)
  if (fault !== undefined) throw new BadJson(fault)
  return value
}

function faultOf(value: unknown, levels: number): string | undefined {
  if (typeof value === 'string') return faultOfText(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return 'it is nested too deep'
  if (Array.isArray(value)) {
    for (const item of value) {
      const fault = faultOf(item, levels - 1)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    if (reachesPrototype(key, object[key])) return 'it has a forbidden key'
    const fault = faultOfText(key) ?? faultOf(object[key], levels - 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

function faultOfText(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'it has half of a surrogate pair'
}

function reachesPrototype(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return (
    key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
  )
}
