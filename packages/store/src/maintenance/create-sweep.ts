import type { DatabaseSync } from 'node:sqlite'

// Free pages that the file keeps for later writes: 16 MiB.
const KEPT = 4_096
// Pages per call, so that other work runs between two calls.
const SLICE = 1_000

type Sweep = (now: number) => Promise<number>

/**
 * Runs one sweep at a time, then `afterwards`: two at once would each remove the surplus. A call during a sweep gets its
 * result.
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

/** Returns some unused pages to the file system; true if more remain. */
export function freePages(database: DatabaseSync): boolean {
  const before = countFree(database)
  if (before <= KEPT) return false
  database.exec(`pragma incremental_vacuum(${Math.min(SLICE, before - KEPT)})`)
  const left = countFree(database)
  // A file without `auto_vacuum` keeps its pages and reuses them.
  return left < before && left > KEPT
}

function countFree(database: DatabaseSync): number {
  return Number(database.prepare('pragma freelist_count').get()!['freelist_count'])
}
