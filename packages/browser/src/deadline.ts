/** What `withinTime` resolves with when the time is over. */
export const LATE: unique symbol = Symbol('late')

/** Settles like `work`, or resolves with `LATE` after `ms` milliseconds. */
export async function withinTime<T>(work: Promise<T>, ms: number): Promise<T | typeof LATE> {
  const { promise: late, resolve } = Promise.withResolvers<typeof LATE>()
  const timer = setTimeout(resolve, ms, LATE)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
