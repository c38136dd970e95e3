import { createHash } from 'node:crypto'

const MAX_LENGTH = 64
const FITTING = /^[A-Za-z_][\w-]{0,63}$/

/**
 * A name as every provider takes it for a tool: 1–64 letters, digits, `_` and `-`, and no digit or hyphen first. A long name is
 * shortened, and ends with a hash of all of it.
 */
export function toToolName(name: string): string {
  if (FITTING.test(name)) return name
  const safe = name.replace(/[^\w-]/g, '_').replace(/^(?![A-Za-z_])/, '_')
  if (safe.length <= MAX_LENGTH) return safe
  const hash = createHash('sha256').update(name.toWellFormed()).digest('hex').slice(0, 8)
  return `${safe.slice(0, MAX_LENGTH - 9)}_${hash}`
}

/** A name that is not taken, with a number if it was; takes it. */
export function unusedName(name: string, taken: Set<string>): string {
  let free = name
  for (let count = 2; taken.has(free); count++) {
    const end = `_${count}`
    free = name.slice(0, MAX_LENGTH - end.length) + end
  }
  taken.add(free)
  return free
}

/** A name for each tool, as every provider takes it: those that fit stay as they are, duplicates are numbered. */
export function toToolNames(names: readonly string[]): string[] {
  const taken = new Set(names.filter((name) => FITTING.test(name)))
  const given = new Set<string>()
  return names.map((name) => {
    if (!FITTING.test(name) || given.has(name)) return unusedName(toToolName(name), taken)
    given.add(name)
    return name
  })
}
