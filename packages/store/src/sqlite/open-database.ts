import { mkdirSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { STO_ERR_HARD_LINKS, STO_ERR_IN_USE, STO_ERR_OPEN } from '../errors.ts'
import type { SqliteOptions } from '../options.ts'
import { lockFile } from './lock-file.ts'
import { OpenFile } from './open-file.ts'

// Milliseconds to wait for other programs at the start.
const OPENING_TIMEOUT = 5_000
// Pages of the write-ahead log after which it is copied into the file, 16 MiB: pages that change often are copied less often.
const MAX_WAL = 4_000
// Bytes of disk that the idle write-ahead log keeps.
const MAX_IDLE_WAL = 67_108_864

/** A database open in this process only. */
export interface OpenDatabase {
  readonly database: DatabaseSync
  /** The real path of its file; undefined for a database in memory. */
  readonly path: string | undefined
  /** @throws STO_ERR_FILE_GONE if the file was deleted, moved or replaced; detected within a second */
  requireFile(): void
  close(): void
}

/**
 * Opens the file; creates it and its folder if needed.
 * @throws STO_ERR_OPEN, STO_ERR_IN_USE, STO_ERR_HARD_LINKS
 */
export function openDatabase({
  path,
  durability,
  secureDelete = false
}: Pick<SqliteOptions, 'path' | 'durability'> & Partial<Pick<SqliteOptions, 'secureDelete'>>): OpenDatabase {
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
    // By its real path, so that symbolic links share one lock.
    const openFile = inMemory ? undefined : new OpenFile(realpathSync(file))
    if (openFile !== undefined) opened.push(lockFile(openFile.path))
    // Only before the first write to a new file: later it has no effect and would wait for other programs.
    if (isNew(database)) database.exec('pragma auto_vacuum = incremental')
    database.exec(
      `pragma journal_mode = wal; pragma wal_autocheckpoint = ${MAX_WAL}; pragma synchronous = ${durability}; pragma journal_size_limit = ${MAX_IDLE_WAL}`
    )
    database.exec(`pragma secure_delete = ${secureDelete ? 'on' : 'off'}`)
    // From here on a locked database is retried later instead of blocking the process.
    database.exec('pragma busy_timeout = 0')
    return { database, path: openFile?.path, requireFile: () => openFile?.requireThere(), close }
  } catch (err) {
    close()
    if (err instanceof STO_ERR_IN_USE || err instanceof STO_ERR_HARD_LINKS) throw err
    throw new STO_ERR_OPEN((err as Error).message, { cause: err })
  }
}

function isNew(database: DatabaseSync): boolean {
  return database.prepare('pragma page_count').get()!['page_count'] === 0
}
