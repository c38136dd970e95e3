import { randomFillSync } from 'node:crypto'

const HEX = Buffer.from('0123456789abcdef')
/** The position of each byte's two digits. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

const bytes = Buffer.alloc(16 * 128)
const text = Buffer.alloc(36, '-')
let next = bytes.length

/**
 * Creates a random UUID, version 4 (RFC 9562), with 122 random bits. `crypto.randomUUID` concatenates twenty strings, which V8 keeps
 * as a rope of 490 bytes; this one is a flat string of 64 bytes.
 */
export function randomId(): string {
  if (next === bytes.length) {
    randomFillSync(bytes)
    next = 0
  }
  bytes[next + 6] = (bytes[next + 6]! & 0x0f) | 0x40
  bytes[next + 8] = (bytes[next + 8]! & 0x3f) | 0x80
  for (const place of PLACES) {
    const byte = bytes[next++]!
    text[place] = HEX[byte >> 4]!
    text[place + 1] = HEX[byte & 0x0f]!
  }
  return text.toString('latin1')
}

const DIGITS = Buffer.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
/** The largest multiple of 62 in a byte: bytes from here on would make some digits more frequent. */
const FAIR = 248
const TIME_DIGITS = 7
const RANDOM_DIGITS = 22

const runBytes = Buffer.alloc(4_096)
const runText = Buffer.alloc(TIME_DIGITS + RANDOM_DIGITS)
let nextRunByte = runBytes.length
let second = -1

/**
 * Creates the id of a run: the seconds since the epoch as 7 digits of base 36, then 22 random digits of base 62, which are over 128
 * bits. Ids sort by time, so that stores can keep the runs of a day together; to everybody else they are opaque.
 */
export function newRunId(now = Date.now()): string {
  const seconds = Math.floor(now / 1_000)
  if (seconds !== second) {
    runText.write(seconds.toString(36).padStart(TIME_DIGITS, '0').slice(-TIME_DIGITS), 'latin1')
    second = seconds
  }
  for (let place = TIME_DIGITS; place < runText.length;) {
    if (nextRunByte === runBytes.length) {
      randomFillSync(runBytes)
      nextRunByte = 0
    }
    const byte = runBytes[nextRunByte++]!
    if (byte < FAIR) runText[place++] = DIGITS[byte % 62]!
  }
  return runText.toString('latin1')
}
