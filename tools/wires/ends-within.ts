import { setTimeout as pause } from 'node:timers/promises'

const STEP = 10

/**
 * Whether something ends within some milliseconds of this process: they pass in steps, one after the other, so that a machine which
 * lets the process stand still does not use them up.
 */
export async function endsWithin(milliseconds: number, what: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void what.then(() => (isOver = true))
  for (let passed = 0; passed < milliseconds && !isOver; passed += STEP) await pause(STEP)
  return isOver
}
