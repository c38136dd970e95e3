import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Every text file of a repository: its path from the root, with forward slashes, and what it says. */
export type SourceTree = ReadonlyMap<string, string>

const skipped = new Set(['node_modules', 'dist', '.git', '.tap', '.turbo', 'coverage', 'data'])

/** Reads a repository from disk, without what is installed, built or binary. */
export function readSourceTree(root: string): SourceTree {
  const tree = new Map<string, string>()
  const visit = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (skipped.has(entry.name) || entry.isSymbolicLink()) continue
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) visit(path)
      else if (entry.isFile()) {
        const text = readFileSync(join(root, path), 'utf8')
        if (!text.includes('\0')) tree.set(path, text)
      }
    }
  }
  visit('')
  return tree
}

/** Makes a tree of a plain object. */
export const toSourceTree = (files: Record<string, string>): SourceTree => new Map(Object.entries(files))
