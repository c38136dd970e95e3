import { META_KEYS } from '../protocol/revisions.ts'

/** Methods whose results say how long they may be kept. */
const CACHEABLE = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read'
])
/** What a caller may see, and how far a run is, may change at any time. */
const UNCACHED = { ttlMs: 0, cacheScope: 'private' }

/** A result as 2026-07-28 has it: it says whether it is all, and which server it is of. */
export function encodeResult(method: string, result: object, server: object): object {
  const { _meta: meta } = result as { _meta?: object }
  return {
    resultType: 'complete',
    ...(CACHEABLE.has(method) && UNCACHED),
    ...result,
    _meta: { ...meta, [META_KEYS.server]: server }
  }
}
