import { randomUUID } from 'node:crypto'
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWN_PREFIX } from './remove-left-behind.ts'

/**
 * A directory for the files of one request, created with the first file and private to this user. Removed once no work
 * holds it.
 */
export class TempDirectory {
  #path: string | undefined
  #holders = 0
  readonly #removed = Promise.withResolvers<void>()

  /** Resolves when the directory is removed; rejects if that fails. */
  readonly removed: Promise<void> = this.#removed.promise

  /** Holds the directory until the work settles. */
  keepUntil(work: Promise<unknown>): void {
    this.#holders++
    const release = () => {
      if (--this.#holders === 0) this.#removed.resolve(this.remove())
    }
    work.then(release, release)
  }

  /** Creates an empty file with a random name. */
  async createFile(): Promise<{ path: string; handle: FileHandle }> {
    // `mkdtemp` creates it with mode 0700.
    this.#path ??= await mkdtemp(join(tmpdir(), OWN_PREFIX))
    const path = join(this.#path, randomUUID())
    return { path, handle: await open(path, 'wx', 0o600) }
  }

  /** Removes the directory and its files at once. */
  async remove(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { recursive: true, force: true })
  }
}
