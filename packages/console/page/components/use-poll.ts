import { useEffect, useRef } from 'preact/hooks'

/** Calls a function at once and then at intervals, one call at a time, and not while the tab is hidden. */
export function usePoll(
  poll: (signal: AbortSignal) => Promise<void>,
  milliseconds: number,
  dependencies: readonly unknown[]
): void {
  const latest = useRef(poll)
  latest.current = poll
  useEffect(() => {
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isBusy = false
    const round = async () => {
      if (isBusy) return
      clearTimeout(timer)
      isBusy = true
      if (!document.hidden) await latest.current(abort.signal)
      isBusy = false
      if (!abort.signal.aborted) timer = setTimeout(() => void round(), milliseconds)
    }
    void round()
    const shown = () => {
      if (!document.hidden) void round()
    }
    document.addEventListener('visibilitychange', shown)
    return () => {
      abort.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', shown)
    }
  }, [milliseconds, ...dependencies])
}
