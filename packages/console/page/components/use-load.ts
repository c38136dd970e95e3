import { useCallback, useEffect, useState } from 'preact/hooks'

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
