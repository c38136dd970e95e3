import { Type, type TInteger } from '@sinclair/typebox'

/** Milliseconds: the longest time that a timer of Node.js takes; with a longer one it would fire at once. */
export const MAX_TIMER = 2_147_483_647

/** The schema of an option that is a time: whole milliseconds that a timer takes, 1 at least where nothing else is said. */
export function millisecondsSchema(description: string, minimum = 1): TInteger {
  return Type.Integer({ minimum, maximum: MAX_TIMER, description })
}
