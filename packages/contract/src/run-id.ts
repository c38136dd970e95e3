import { randomFillSync } from 'node:crypto'

const DIGITS = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
/** The largest multiple of 62 in a byte: bytes from here on would make some digits more frequent. */
const FAIR = 248
const TIME_DIGITS = 7
const RANDOM_DIGITS = 22

const bytes = Buffer.alloc(4_096)
const text = Buffer.alloc(TIME_DIGITS + RANDOM_DIGITS)
let next = bytes.length
let second = -1

/**
 * Creates the id of a run: the seconds since the epoch as 7 digits of base 36, then 22 random digits of base 62, which are over 128
 * bits. Ids sort by time, so that stores can keep the runs of a day together; to everybody else they are opaque.
 */
export function newRunId(now = Date.now()): string {
  const seconds = Math.floor(now / 1_000)
  if (seconds !== second) {
    text.write(seconds.toString(36).padStart(TIME_DIGITS, '0').slice(-TIME_DIGITS), 'latin1')
    second = seconds
  }
  for (let place = TIME_DIGITS; place < text.length;) {
    if (next === bytes.length) {
      randomFillSync(bytes)
      next = 0
    }
    const byte = bytes[next++]!
    if (byte < FAIR) text[place++] = DIGITS[byte % 62]!
  }
  return text.toString('latin1')
}
