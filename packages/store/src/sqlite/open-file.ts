import { statSync } from 'node:fs'
import { STO_ERR_FILE_GONE, STO_ERR_HARD_LINKS } from '../errors.ts'

// Milliseconds that a check of the files stays valid, since checking at every write is too slow.
const MAX_AGE = 1_000

/** The file of an open database; checks that its path still leads to it. */
export class OpenFile {
  readonly path: string
  readonly #identity: string | undefined
  // Of the write-ahead log, once it exists.
  #walIdentity: string | undefined
  #lookedAt = -MAX_AGE

  /** @throws STO_ERR_HARD_LINKS if the file has another name: its lock and its write-ahead log are found by name */
  constructor(path: string) {
    const { nlink } = statSync(path)
    if (nlink > 1) throw new STO_ERR_HARD_LINKS(path, nlink)
    this.path = path
    this.#identity = identify(path)
  }

  /** @throws STO_ERR_FILE_GONE */
  requireThere(): void {
    const now = performance.now()
    if (now - this.#lookedAt < MAX_AGE) return
    const wal = identify(`${this.path}-wal`)
    this.#walIdentity ??= wal
    if (identify(this.path) !== this.#identity || isEmpty(this.path)) throw new STO_ERR_FILE_GONE(this.path)
    if (wal !== this.#walIdentity) throw new STO_ERR_FILE_GONE(`${this.path}-wal`)
    this.#lookedAt = now
  }
}

function identify(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev} ${found.ino}`
}

function isEmpty(path: string): boolean {
  return statSync(path).size === 0
}
