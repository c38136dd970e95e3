import { isTellable } from '@svc/contract'
import { A2A_ERR_REMOTE } from '../../errors.ts'

/** How long to wait for an answer. */
export interface Wait {
  signal?: AbortSignal | undefined
  /** Milliseconds until `read` is done; undefined: no limit. */
  timeout: number | undefined
}

/**
 * Sends a request and reads its answer; redirects are not followed.
 * @throws A2A_ERR_REMOTE, the signal's reason when it aborts, and errors of `read` itself
 */
export async function fetchAnswer<T>(
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string },
  { signal, timeout }: Wait,
  read: (response: Response) => Promise<T>
): Promise<T> {
  const late = new AbortController()
  const timer =
    timeout && setTimeout(() => late.abort(new A2A_ERR_REMOTE('it does not answer in time')), timeout)
  let isBegun = false
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal
    })
    isBegun = true
    return await read(response)
  } catch (err) {
    signal?.throwIfAborted()
    late.signal.throwIfAborted()
    if (isTellable(err)) throw err
    throw new A2A_ERR_REMOTE(isBegun ? 'its answer breaks off' : 'it cannot be reached', { cause: err })
  } finally {
    clearTimeout(timer)
  }
}
