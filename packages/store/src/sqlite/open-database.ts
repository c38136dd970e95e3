import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STO_ERR_OPEN } from '../errors.ts'
import type { ResolvedOptions } from '../options.ts'

/** Opens the file, and makes it and its folder where they are not there. @throws STO_ERR_OPEN */
export function openDatabase({
  path,
  durability
}: Pick<ResolvedOptions, 'path' | 'durability'>): DatabaseSync {
  try {
    if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
    const database = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true })
    database.exec(`pragma journal_mode = wal; pragma synchronous = ${durability}`)
    return database
  } catch (err) {
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}
