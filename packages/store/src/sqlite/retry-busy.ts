import { setTimeout as pause } from 'node:timers/promises'

const SQLITE_BUSY = 5
/** Milliseconds between two attempts. */
export const BUSY_PAUSE = 25

/** True for an error caused by another program's lock. */
export function isBusy(err: unknown): boolean {
  return ((err as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === SQLITE_BUSY
}

/** Repeats work that another program's lock refuses, for `patience` milliseconds. @throws the error of `work` */
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
