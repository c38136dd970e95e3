import type { Part } from '@svc/registry'
import { LogReader, type LogHost } from '@svc/registry/kit'
import type { RunView } from './run-view.ts'

/** How a run is followed. */
export interface Following {
  /** Ends the following. */
  readonly signal: AbortSignal
  /** Milliseconds until it ends by itself. */
  readonly timeout?: number | undefined
  onPart?(part: Part): void
  /** Called whenever the log has nothing more for now and the run only waits; true ends the following. */
  onWaiting(): boolean
}

/**
 * Reads the log of a run from its start into a view, until the run ends, until it waits and that is enough, or until the time or the caller
 * ends it. Costs nothing while the log is silent.
 */
export async function followRun(
  host: LogHost,
  runId: string,
  view: RunView,
  { signal, timeout, onPart, onWaiting }: Following
): Promise<void> {
  const reader = new LogReader(host, runId, 0, true)
  let isOver = signal.aborted
  let wake: (() => void) | undefined
  const leave = () => {
    isOver = true
    wake?.()
  }
  signal.addEventListener('abort', leave, { once: true })
  const timer = timeout === undefined ? undefined : setTimeout(leave, timeout)
  try {
    while (!reader.ended) {
      const entries = await reader.read()
      for (const { part } of entries) {
        view.add(part)
        onPart?.(part)
      }
      if (entries.length > 0 || reader.ended) continue
      if (isOver || (view.isWaiting && onWaiting())) return
      await new Promise<void>((resolve) => {
        wake = resolve
        reader.onNews(resolve)
        if (isOver) resolve()
      })
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
    reader.close()
  }
}
