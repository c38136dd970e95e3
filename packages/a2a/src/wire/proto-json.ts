/** Objects whose keys are the caller's own. */
const OPEN = new Set(['metadata', 'data'])

// An empty text is what a proto has where nothing was set.
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

/**
 * A request as the protocol's names say it: `snake_case` keys become `camelCase` ones, and what is null is left out. What
 * the protocol does not define, metadata and data, stays as it is.
 * @see https://protobuf.dev/programming-guides/json/
 */
export function fromProtoJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromProtoJson)
  if (typeof value !== 'object' || value === null) return value
  const result: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) {
    if (each === null && key !== 'data') continue
    const name = key.includes('_') ? toCamelCase(key) : key
    if (each === '' && UNSET_WHEN_EMPTY.has(name)) continue
    result[name] = OPEN.has(name) ? each : fromProtoJson(each)
  }
  return result
}

function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
