/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

const waiting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, for one caller a turn and in the order of the calls: however much long work goes
 * on at once, a turn has one slice of it, and others are served.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(advance)
  })
}

/** What long work waits for between two of its pieces: for nothing, or, when it has had its time of this turn, for another. */
export function createPause(): () => Promise<void> {
  let end = performance.now() + SLICE
  return async () => {
    if (performance.now() < end) return
    await nextTurn()
    end = performance.now() + SLICE
  }
}

function advance(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(advance)
}
