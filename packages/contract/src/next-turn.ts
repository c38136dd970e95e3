/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

const waiting: (() => void)[] = []
let callbacks: (() => void)[] = []

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

/**
 * Calls back in the next turn of the event loop, all callers in the same one. Work of a turn is then done before its outcomes are
 * delivered: a reply written between two runs would cost the second one its caches. The callback must not throw.
 */
export function callNextTurn(callback: () => void): void {
  if (callbacks.push(callback) === 1) setImmediate(callAll)
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

function callAll(): void {
  const due = callbacks
  callbacks = []
  for (const callback of due) callback()
}
