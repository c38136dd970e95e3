type Sweep = (now: number) => Promise<number>

/**
 * One sweep at a time, with what is to be done after it: two at once would each remove what is too much. Who calls
 * meanwhile gets what the one under way gives.
 */
export function createSweep(remove: Sweep, afterwards: () => Promise<void>): Sweep {
  let underWay: Promise<number> | undefined
  const sweep = async (now: number) => {
    const removed = await remove(now)
    await afterwards()
    return removed
  }
  return (now) => (underWay ??= sweep(now).finally(() => (underWay = undefined)))
}
