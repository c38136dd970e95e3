import { globSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { parseSections, type Section } from './parse-sections.ts'

/** The documents of this service, from the root of the repository. */
const DOCUMENTS = [
  'README.md',
  'docs/*.md',
  'packages/*/README.md',
  'apps/demo/README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md'
]
const WRITTEN_ADDRESS = /\b(?:localhost|127\.0\.0\.1):3000\b/g

/** Reads the documents below a folder and splits them into sections. */
export function loadSections(root: string, patterns: readonly string[] = DOCUMENTS): Section[] {
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort())
  return [...new Set(paths)].flatMap((path) =>
    parseSections(path.split(sep).join(posix.sep), readFileSync(join(root, path), 'utf8'))
  )
}

/** Replaces the address in a document's commands with the service's own, so that they work when pasted. */
export function withAddress(text: string, address: string): string {
  return text.replace(WRITTEN_ADDRESS, address)
}
