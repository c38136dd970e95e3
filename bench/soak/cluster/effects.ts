import { appendFileSync, readFileSync } from 'node:fs'

/** Something that a step did, as its process wrote it down outside of all stores. */
export interface Effect {
  /** The idempotency key of the step or call. */
  readonly key: string
  /** `once` if it must never be repeated, though it may not happen at all. */
  readonly kind: 'once' | 'again'
  /** The process. */
  readonly writer: string
  /** By the clock of the machine. */
  readonly at: number
  /** The longest that the process stood still in the second before, in milliseconds. */
  readonly stood: number
}

/** A file of effects, shared by all processes. One write each, so that a kill leaves a whole line or none. */
export function writeEffect(file: string, { key, kind, writer, at, stood }: Effect): void {
  appendFileSync(file, `${key}\t${kind}\t${writer}\t${at}\t${Math.round(stood)}\n`)
}

export function readEffects(file: string): Effect[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [key, kind, writer, at, stood] = line.split('\t') as [
      string,
      Effect['kind'],
      string,
      string,
      string
    ]
    return { key, kind, writer, at: Number(at), stood: Number(stood) }
  })
}

const TICK = 20
const TICKS = 50

/** Watches how long this process stands still at a time, as on a busy machine; gives a function that says the longest of the last second. */
export function watchStandstill(): () => number {
  const late: number[] = []
  let last = performance.now()
  const since = () => performance.now() - last - TICK
  setInterval(() => {
    if (late.push(since()) > TICKS) late.shift()
    last = performance.now()
  }, TICK).unref()
  return () => Math.max(0, since(), ...late)
}
