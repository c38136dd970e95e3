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
