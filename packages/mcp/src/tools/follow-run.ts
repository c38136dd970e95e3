import { callNextTurn, createPause, isPromise, type Part } from '@svc/contract'
import { LogReader, type LogHost } from '@svc/surface'
import type { RunView } from './run-view.ts'

/** How a run is followed. */
export interface Following {
  /** Called once with what ends the following. */
  onLeave(leave: () => void): void
  /** Milliseconds until it ends by itself. */
  readonly timeout?: number | undefined
  onPart?(part: Part): void
  /** Called whenever the log has nothing more for now and the run only waits; true ends the following. */
  onWaiting(): boolean
}

/**
 * Reads the log of a run from its start into a view, until the run ends, until it waits and that is enough, or until the time or the caller
 * ends it. Costs nothing while the log is silent; what the run logs in one turn of the event loop is read at once.
 */
export async function followRun(
  host: LogHost,
  runId: string,
  view: RunView,
  { timeout, onLeave, onPart, onWaiting }: Following
): Promise<void> {
  const reader = new LogReader(host, runId, 0, true)
  const pause = createPause()
  let isOver = false
  let wake: (() => void) | undefined
  const leave = () => {
    isOver = true
    wake?.()
  }
  onLeave(leave)
  const timer = timeout === undefined ? undefined : setTimeout(leave, timeout)
  try {
    await new Promise<void>(callNextTurn)
    while (!reader.ended) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      for (const { part } of entries) {
        view.add(part)
        onPart?.(part)
      }
      if (entries.length > 0 || reader.ended) {
        await pause()
        continue
      }
      if (isOver || (view.isWaiting && onWaiting())) return
      await new Promise<void>((resolve) => {
        wake = () => callNextTurn(resolve)
        reader.onNews(wake)
        if (isOver) resolve()
      })
    }
  } finally {
    clearTimeout(timer)
    reader.close()
  }
}
