import { mkdirSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STO_ERR_IN_USE, STO_ERR_OPEN } from '../errors.ts'
import type { ResolvedOptions } from '../options.ts'
import { lockFile } from './lock-file.ts'

// Bytes that the write-ahead log keeps of the disk when it is not in use.
const MAX_IDLE_WAL = 67_108_864

/** A database that is this process's alone. */
export interface OpenDatabase {
  readonly database: DatabaseSync
  close(): void
}

/** Opens the file, and makes it and its folder where they are not there. @throws STO_ERR_OPEN, STO_ERR_IN_USE */
export function openDatabase({
  path,
  durability
}: Pick<ResolvedOptions, 'path' | 'durability'>): OpenDatabase {
  const opened: (() => void)[] = []
  const close = () => {
    for (const each of opened.splice(0)) each()
  }
  try {
    const inMemory = path === ':memory:'
    const file = inMemory ? path : resolve(path)
    if (!inMemory) mkdirSync(dirname(file), { recursive: true })
    const database = new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true })
    opened.push(() => database.close())
    // By its real name: links to a file lead to one lock.
    if (!inMemory) opened.push(lockFile(realpathSync(file)))
    // The first holds for new files only, and only before anything is written.
    database.exec(`pragma auto_vacuum = incremental; pragma journal_mode = wal`)
    database.exec(`pragma synchronous = ${durability}; pragma journal_size_limit = ${MAX_IDLE_WAL}`)
    return { database, close }
  } catch (err) {
    close()
    if (err instanceof STO_ERR_IN_USE) throw err
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}
