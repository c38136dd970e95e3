/** The middle one of the values; between the two in the middle of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * A percentile of sorted values; 0 of none.
 * @param share from 0 to 1
 */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** The most that a figure of ours may be: as a multiple of that of a bare server, or alone. */
export interface Target {
  readonly times?: number | undefined
  readonly most?: number
}

/** Prints a figure of ours beside that of a bare server, and how many times as much it is. */
export function printBeside(what: string, bare: number, ours: number, { times, most }: Target = {}): void {
  const [a, b] = [bare, ours].map((figure) => figure.toFixed(figure < 100 ? 1 : 0).padStart(8))
  const targets = [
    ...(times === undefined ? [] : [`× ${Number(times.toFixed(2))}`]),
    ...(most === undefined ? [] : [String(most)])
  ]
  const isOver = ours / bare > (times ?? Infinity) || ours > (most ?? Infinity)
  const verdict = targets.length === 0 ? '' : `   target ≤ ${targets.join(' and ')}${isOver ? ', over' : ''}`
  console.log(`${what.padEnd(40)}bare ${a}   ours ${b}   × ${(ours / bare).toFixed(2)}${verdict}`)
}
