import { countLines } from './files.ts'
import type { SourceTree } from './source-tree.ts'
import { findSourceFiles } from './workspace.ts'

const sliver = 20
const maxSlivers = 24

/**
 * A file of 20 lines or less belongs with its only importer or its siblings; all packages together have fewer than 25. Entries and
 * migrations, one a file, do not count.
 */
export function checkSlivers(tree: SourceTree): string[] {
  const found = findSourceFiles(tree).filter(
    ({ path, text, role }) =>
      role === 'src' &&
      path.startsWith('packages/') &&
      !path.endsWith('/index.ts') &&
      !path.includes('/migrations/') &&
      countLines(text) <= sliver
  )
  if (found.length <= maxSlivers) return []
  const paths = found.map(({ path }) => path).toSorted((a, b) => (a < b ? -1 : 1))
  return [`${found.length} files of at most ${sliver} lines, at most ${maxSlivers}: ${paths.join(', ')}`]
}
