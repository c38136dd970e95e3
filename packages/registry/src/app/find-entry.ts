import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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
      return createRequire(place).resolve(name)
    } catch {
      // It is not installed there.
    }
  }
  return undefined
}
