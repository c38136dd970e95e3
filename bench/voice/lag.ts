import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds of a timer, as of a frame of audio. */
const FRAME = 20

/** How late timers of this process and this machine are while nothing is measured: milliseconds, sorted. */
export async function measureLag(timers: number): Promise<number[]> {
  const late: number[] = []
  for (let timer = 0; timer < timers; timer++) {
    const due = performance.now() + FRAME
    await pause(FRAME)
    late.push(Math.max(0, performance.now() - due))
  }
  return late.toSorted((a, b) => a - b)
}
