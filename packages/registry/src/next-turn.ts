/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

const waiting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, one caller per turn, in call order. However much long work is in progress, each turn
 * has one slice of it, and other work is served in between.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(advance)
  })
}

/** Creates a pause for long work to await between its pieces: it yields to the event loop once the time slice is used up. */
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
