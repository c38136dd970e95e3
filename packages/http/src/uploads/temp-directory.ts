import { randomUUID } from 'node:crypto'
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWN_PREFIX } from './remove-left-behind.ts'

/**
 * A directory for the files of one request, made with the first of them, which only this user can open. It goes when
 * nothing holds it any more.
 */
export class TempDirectory {
  #path: string | undefined
  #holders = 0
  readonly #removed = Promise.withResolvers<void>()

  /** Resolves when it is gone; rejects when it could not be removed. */
  readonly removed: Promise<void> = this.#removed.promise

  /** Holds it until this work has ended, well or badly. */
  keepUntil(work: Promise<unknown>): void {
    this.#holders++
    const release = () => {
      if (--this.#holders === 0) this.#removed.resolve(this.remove())
    }
    work.then(release, release)
  }

  /** A new, empty file under a random name. */
  async createFile(): Promise<{ path: string; handle: FileHandle }> {
    // Made with mode 0700.
    this.#path ??= await mkdtemp(join(tmpdir(), OWN_PREFIX))
    const path = join(this.#path, randomUUID())
    return { path, handle: await open(path, 'wx', 0o600) }
  }

  /** Removes it at once, with all that is in it. */
  async remove(): Promise<void> {
    if (this.#path !== undefined) await rm(this.#path, { recursive: true, force: true })
  }
}
