import { DatabaseSync } from 'node:sqlite'
import { STO_ERR_IN_USE } from '../errors.ts'

// Long enough for a predecessor that is exiting.
const WAIT = 500
const SQLITE_BUSY = 5

/**
 * Locks a database for this process by an exclusive transaction on an empty database beside it, which ends with the process
 * however it dies. Readers of the database itself are not locked out. Returns the function that releases the lock.
 * @throws STO_ERR_IN_USE
 */
export function lockFile(path: string): () => void {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: WAIT })
  try {
    // Without a journal there is no second file.
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (err) {
    lock.close()
    throw (err as { errcode?: number }).errcode === SQLITE_BUSY ? new STO_ERR_IN_USE(path) : err
  }
  return () => lock.close()
}
