import type { WatchedRun } from './watched-run.ts'

/** When something was broken, in milliseconds by the clock of the machine. */
export interface Broken {
  readonly from: number
  readonly to: number
}

/** Milliseconds in which readers received nothing of runs that had not ended. */
export interface Silences {
  /** The longest of each reader, sorted. */
  readonly all: readonly number[]
  /** The longest of all since the last fault was mended, and before the next one. */
  readonly mended: number
}

/** Finds how long the readers of runs had to wait, at any time and while everything worked. */
export function findSilences(runs: readonly WatchedRun[], faults: readonly Broken[]): Silences {
  const broken = merge(faults)
  const all: number[] = []
  let mended = 0
  for (const { times } of runs.flatMap(({ readings }) => readings)) {
    let longest = 0
    for (const [index, time] of times.entries()) {
      const before = times[index - 1] ?? time
      longest = Math.max(longest, time - before)
      if (time - before > mended) mended = Math.max(mended, longestBetween(broken, before, time))
    }
    all.push(longest)
  }
  return { all: all.toSorted((a, b) => a - b), mended }
}

// In their order, without overlaps.
function merge(faults: readonly Broken[]): Broken[] {
  const merged: Broken[] = []
  for (const { from, to } of faults.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to)
      merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, to) }
    else merged.push({ from, to })
  }
  return merged
}

// The longest time between two faults, within a period.
function longestBetween(broken: readonly Broken[], begin: number, end: number): number {
  let longest = 0
  let since = begin
  for (const { from, to } of broken) {
    if (to <= since) continue
    if (from >= end) break
    longest = Math.max(longest, from - since)
    since = to
  }
  return Math.max(longest, end - since)
}
