import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Milliseconds that a frame may take, from the first line of code to its layout. */
const BUDGET = 8
/** Frames that drawing may take, even if they take longer. */
const MAX_FRAMES = 1_000

/** How many of many items to draw: more in each frame, as many as fit into it. @param first items of the first frame */
export function useGradually(count: number, first = 25): number {
  const [drawn, setDrawn] = useState(first)
  const pace = useRef({ step: first, began: 0 })
  useLayoutEffect(() => {
    if (drawn >= count) return undefined
    let frame = 0
    // After the layout of this frame.
    const timer = setTimeout(() => {
      const { step, began } = pace.current
      const cost = began === 0 ? BUDGET : performance.now() - began
      const next =
        cost * 2 < BUDGET
          ? step * 2
          : cost > BUDGET
            ? Math.max(Math.ceil(count / MAX_FRAMES), step >> 1)
            : step
      frame = requestAnimationFrame(() => {
        pace.current = { step: next, began: performance.now() }
        setDrawn(drawn + next)
      })
    })
    return () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [drawn, count])
  return Math.min(drawn, count)
}

/** Something that is read from the service: the last value stays while it is read again. */
export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/** Reads something at first, and again when a dependency changes; what was read for others before is dropped. */
export function useLoad<T>(
  read: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[]
): Loaded<T> {
  const [state, setState] = useState<{ value: T | undefined; error: unknown; isLoading: boolean }>({
    value: undefined,
    error: undefined,
    isLoading: true
  })
  const [round, setRound] = useState(0)
  useEffect(() => {
    const abort = new AbortController()
    setState((old) => ({ ...old, isLoading: true }))
    read(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ value, error: undefined, isLoading: false })
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((old) => ({ ...old, error, isLoading: false }))
      }
    )
    return () => abort.abort()
  }, [...dependencies, round])
  const reload = useCallback(() => setRound((old) => old + 1), [])
  return { ...state, reload }
}

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

/**
 * Whether an element was ever in the window, or near it: what is further away loads nothing.
 * @param margin around the window that counts too
 */
export function useSeen<E extends Element>(margin = '0px') {
  const place = useRef<E>(null)
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        setSeen(true)
        watcher.disconnect()
      },
      { rootMargin: margin }
    )
    watcher.observe(place.current!)
    return () => watcher.disconnect()
  }, [])
  return [place, isSeen] as const
}
