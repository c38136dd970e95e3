import { isOfSession, type MemoryItemRetention, type MemoryStore } from '@svc/contract'
import { MemorySpace } from './memory-space.ts'
import type { RunTable } from './run-table.ts'

// The total of all spaces is limited to that of this many full ones; the space idle for longest is dropped.
const FULL_SPACES = 10

/** What agents remember, in process memory. */
export function createInProcessMemoryStore(
  { memoryMaxItems, memoryMaxAge }: MemoryItemRetention,
  runs: Pick<RunTable, 'requireEpoch'>
): MemoryStore {
  const spaces = new Map<string, MemorySpace>()
  let size = 0

  const remove = (key: string, id: string): boolean => {
    const space = spaces.get(key)
    if (!space?.remove(id)) return false
    if (space.size === 0) spaces.delete(key)
    size--
    return true
  }

  return {
    put(item, fence) {
      runs.requireEpoch(fence)
      const key = keyOf(item.owner, item.namespace)
      const space = spaces.get(key) ?? new MemorySpace()
      const before = space.size
      space.put(structuredClone(item))
      size += space.size - before
      // Keeps the spaces in the order of their last writes.
      spaces.delete(key)
      spaces.set(key, space)
      if (space.size > memoryMaxItems) remove(key, space.oldest()!)
      while (size > memoryMaxItems * FULL_SPACES) {
        const [idle, { size: forgotten }] = spaces.entries().next().value!
        spaces.delete(idle)
        size -= forgotten
      }
    },
    search: (owner, namespace, query, limit) =>
      spaces.get(keyOf(owner, namespace))?.search(query, limit) ?? [],
    list: (owner, namespace, limit) => spaces.get(keyOf(owner, namespace))?.list(limit) ?? [],
    remove: (owner, namespace, id) => remove(keyOf(owner, namespace), id),
    removeSession(owner, sessionId, mayGo) {
      const before = size
      for (const [key, space] of spaces)
        for (const { id, namespace, metadata } of space.items()) {
          const from: unknown = metadata?.['sessionId']
          if (ownerOf(key) !== owner || typeof from !== 'string' || !isOfSession(from, sessionId)) continue
          if (mayGo({ namespace, ...(metadata && { metadata }) })) remove(key, id)
        }
      return before - size
    },
    removeOwner(owner, limit) {
      const before = size
      for (const [key, space] of spaces)
        if (ownerOf(key) === owner)
          for (const { id } of space.items()) if (before - size < limit) remove(key, id)
      return before - size
    },
    sweep(now) {
      if (memoryMaxAge === 0) return 0
      const before = size
      for (const [key, space] of spaces) for (const id of space.until(now - memoryMaxAge)) remove(key, id)
      return before - size
    }
  }
}

function keyOf(owner: string, namespace: string): string {
  return JSON.stringify([owner, namespace])
}

function ownerOf(key: string): string {
  return (JSON.parse(key) as [owner: string])[0]
}
