import { mkdirSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STO_ERR_HARD_LINKS, STO_ERR_IN_USE, STO_ERR_OPEN } from '../errors.ts'
import type { ResolvedOptions } from '../options.ts'
import { lockFile } from './lock-file.ts'
import { OpenFile } from './open-file.ts'

// Milliseconds that a start waits for other programs.
const OPENING_TIMEOUT = 5_000
// Bytes that the write-ahead log keeps of the disk when it is not in use.
const MAX_IDLE_WAL = 67_108_864

/** A database that is this process's alone. */
export interface OpenDatabase {
  readonly database: DatabaseSync
  /** @throws STO_ERR_FILE_GONE when the file was deleted, moved or replaced; that may be noticed a second late */
  requireFile(): void
  close(): void
}

/**
 * Opens the file, and makes it and its folder where they are not there.
 * @throws STO_ERR_OPEN, STO_ERR_IN_USE, STO_ERR_HARD_LINKS
 */
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
    const database = new DatabaseSync(file, { timeout: OPENING_TIMEOUT, enableForeignKeyConstraints: true })
    opened.push(() => database.close())
    // By its real name: symbolic links to a file lead to one lock.
    const openFile = inMemory ? undefined : new OpenFile(realpathSync(file))
    if (openFile !== undefined) opened.push(lockFile(openFile.path))
    // For new files only, and only before anything is written: later it would wait for other programs and change nothing.
    if (isNew(database)) database.exec('pragma auto_vacuum = incremental')
    database.exec(
      `pragma journal_mode = wal; pragma synchronous = ${durability}; pragma journal_size_limit = ${MAX_IDLE_WAL}`
    )
    // From here on nobody may be kept waiting: who finds the database locked tries again later.
    database.exec('pragma busy_timeout = 0')
    return { database, requireFile: () => openFile?.requireThere(), close }
  } catch (err) {
    close()
    if (err instanceof STO_ERR_IN_USE || err instanceof STO_ERR_HARD_LINKS) throw err
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}

function isNew(database: DatabaseSync): boolean {
  return database.prepare('pragma page_count').get()!['page_count'] === 0
}
