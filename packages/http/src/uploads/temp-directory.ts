import { createHash, randomUUID } from 'node:crypto'
import { lstat, mkdtemp, open, readdir, rm, type FileHandle } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'

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

// Machines may share the folder, but not their process ids.
const machine = createHash('sha256').update(hostname()).digest('hex').slice(0, 8)
const PREFIX = `svc-upload-${machine}-`

/** Prefix of the names of this process's upload directories. */
export const OWN_PREFIX = `${PREFIX}${process.pid}-`

/**
 * Removes the upload directories of killed processes of this user on this machine. Resolves with their number.
 */
export async function removeLeftBehind(folder = tmpdir()): Promise<number> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(PREFIX))
  const removed = await Promise.all(names.map(async (name) => removeDead(join(folder, name), pidIn(name))))
  return removed.filter(Boolean).length
}

function pidIn(name: string): number {
  return Number(name.slice(PREFIX.length).split('-', 1)[0])
}

async function removeDead(path: string, pid: number): Promise<boolean> {
  try {
    const { uid, mtimeMs } = await lstat(path)
    if (uid !== process.getuid?.() && process.getuid !== undefined) return false
    if (isAlive(pid, mtimeMs)) return false
    await rm(path, { recursive: true })
    return true
  } catch (err) {
    // Another process removed it first.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw err
  }
}

function isAlive(pid: number, madeAt: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return true
  // In a container a restarted process often has the same id.
  if (pid === process.pid) return madeAt >= Date.now() - process.uptime() * 1000
  try {
    process.kill(pid, 0)
    return true
  } catch (err) {
    return (err as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
