import { globSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { parseSections, type Section } from './parse-sections.ts'

/** Where the documents of this service are, from the root of the repository. */
const DOCUMENTS = [
  'README.md',
  'docs/*.md',
  'packages/*/README.md',
  'apps/demo/README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md'
]

/** Reads the documents below a folder, cut into sections. */
export function loadSections(root: string, patterns: readonly string[] = DOCUMENTS): Section[] {
  const paths = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort())
  return [...new Set(paths)].flatMap((path) =>
    parseSections(path.split(sep).join(posix.sep), readFileSync(join(root, path), 'utf8'))
  )
}
