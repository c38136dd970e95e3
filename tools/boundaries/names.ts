import { basename } from 'node:path'
import type { SourceTree } from './source-tree.ts'
import { findSourceFiles } from './workspace.ts'

const emptyNames = new Set(['common', 'helper', 'helpers', 'misc', 'types', 'util', 'utils'])
const kebabCase = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/

/** Files and folders under src are named in kebab-case after what they hold. */
export function checkNames(tree: SourceTree): string[] {
  return findSourceFiles(tree)
    .filter(({ role }) => role === 'src')
    .flatMap(({ path }) => {
      const names = path.slice(path.indexOf('/src/') + 5).split('/')
      return names.flatMap((part) => {
        const name = basename(part, '.ts')
        if (emptyNames.has(name)) return [`${path}: "${name}" says nothing`]
        return kebabCase.test(name) ? [] : [`${path}: "${name}" is not kebab-case`]
      })
    })
}
