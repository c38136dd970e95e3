import type { DatabaseSync } from 'node:sqlite'

// Free pages that stay in the file for what comes next: 16 MiB.
const KEPT = 4_096
// So many at once: others are served between two calls.
const SLICE = 1_000

type Sweep = (now: number) => Promise<number>

/**
 * One sweep at a time, with what is to be done after it: two at once would each remove what is too much. Who calls
 * meanwhile gets what the one under way gives.
 */
export function createSweep(remove: Sweep, afterwards: () => Promise<void>): Sweep {
  let underWay: Promise<number> | undefined
  const sweep = async (now: number) => {
    const removed = await remove(now)
    await afterwards()
    return removed
  }
  return (now) => (underWay ??= sweep(now).finally(() => (underWay = undefined)))
}

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
