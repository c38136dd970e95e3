import type { DatabaseSync } from 'node:sqlite'

// Free pages that stay in the file for what comes next: 16 MiB.
const KEPT = 4_096
// So many at once: others are served between two calls.
const SLICE = 1_000

/** Gives pages that nothing uses back to the system, a few; gives whether there are more to give. */
export function freePages(database: DatabaseSync): boolean {
  const before = countFree(database)
  if (before <= KEPT) return false
  database.exec(`pragma incremental_vacuum(${Math.min(SLICE, before - KEPT)})`)
  const left = countFree(database)
  // Files from before this was done keep their pages, and use them again.
  return left < before && left > KEPT
}

function countFree(database: DatabaseSync): number {
  return Number(database.prepare('pragma freelist_count').get()!['freelist_count'])
}
