import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The file of a package that code in another file would load. @throws if it is not installed there */
export function resolveFrom(place: string, name: string): string {
  // Not imported: webpack replaces calls of an imported `createRequire` when it builds.
  return process.getBuiltinModule('node:module').createRequire(place).resolve(name)
}

/**
 * Finds the entry of an installed package, beside which its files are, also for code in a bundle: as seen from the
 * code itself, from the script that the process was started with, and from the working directory.
 * @param from `import.meta.url` of the code; some bundles have none, and some that of the machine they were built on
 */
export function findEntry(name: string, from: string | undefined): string | undefined {
  const places = [
    from === undefined ? undefined : fileURLToPath(from),
    process.argv[1],
    join(process.cwd(), 'index.js')
  ]
  for (const place of places) {
    if (place === undefined) continue
    try {
      return resolveFrom(place, name)
    } catch {
      // It is not installed there.
    }
  }
  return undefined
}
