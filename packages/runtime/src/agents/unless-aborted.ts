/** Settles as the work does, or rejects with the signal's reason when that aborts before; then the work does not begin. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => T): Promise<Awaited<T>> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
