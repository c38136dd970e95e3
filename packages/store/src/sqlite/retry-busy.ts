import { setTimeout as pause } from 'node:timers/promises'

const SQLITE_BUSY = 5
/** Milliseconds between two attempts: others are served meanwhile. */
export const BUSY_PAUSE = 25

/** Whether a fault says that another program holds a lock on the database. */
export function isBusy(err: unknown): boolean {
  return ((err as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === SQLITE_BUSY
}

/** Does what another program's lock may refuse, again and again, for so many milliseconds. @throws what `work` throws */
export async function retryBusy<T>(work: () => Promise<T>, patience: number): Promise<T> {
  const until = performance.now() + patience
  for (;;) {
    try {
      return await work()
    } catch (err) {
      if (!isBusy(err) || performance.now() >= until) throw err
      await pause(BUSY_PAUSE)
    }
  }
}
