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
}

/** A file of effects, shared by all processes. One write each, so that a kill leaves a whole line or none. */
export function writeEffect(file: string, { key, kind, writer, at }: Effect): void {
  appendFileSync(file, `${key}\t${kind}\t${writer}\t${at}\n`)
}

export function readEffects(file: string): Effect[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => {
    const [key, kind, writer, at] = line.split('\t') as [string, Effect['kind'], string, string]
    return { key, kind, writer, at: Number(at) }
  })
}
