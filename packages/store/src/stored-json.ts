import type { RunLog } from '@svc/registry'
import type { Tables } from './tables.ts'

// Of more rows than these it is not remembered that they were logged.
const MAX_LOGGED = 1_000

/** The value of JSON that is stored; undefined when it is damaged. */
export function parseStored<T>(json: string): T | undefined {
  try {
    return JSON.parse(json) as T
  } catch {
    return undefined
  }
}

/** Leaves out a row that is damaged. */
export type SkipDamaged = (table: keyof Tables, row: string) => undefined

/** Logs each damaged row, once. */
export function createSkipDamaged(log: Pick<RunLog, 'error'>): SkipDamaged {
  const logged = new Set<string>()
  return (table, row) => {
    const id = `${table} ${row}`
    if (logged.has(id) || logged.size === MAX_LOGGED) return undefined
    logged.add(id)
    log.error({ table, row }, 'a damaged row of the store is left out')
    return undefined
  }
}
