import { findImportedFiles } from './imports.ts'
import type { SourceTree } from './source-tree.ts'

/** Folders with an inside, each with the files that the rest of its package may import; all others are private to the folder. */
const TABLE = 'tools/boundaries/entry-points.json'

/** A file outside a folder of the table imports the folder's entry points only; subfolders count as inside. */
export function checkEntryPoints(tree: SourceTree): string[] {
  const table = JSON.parse(tree.get(TABLE) ?? '{}') as Record<string, string[]>
  return Object.entries(table).flatMap(([folder, entries]) => {
    const imports = importsFromOutside(tree, folder)
    return [
      ...imports
        .filter(({ file }) => !entries.includes(file))
        .map(({ path, file }) => `${path}: imports ${file}, which is private to ${folder}`),
      ...entries
        .filter((entry) => !imports.some(({ file }) => file === entry))
        .map((entry) => `${TABLE}: no file outside ${folder} imports ${entry}`)
    ]
  })
}

function importsFromOutside(tree: SourceTree, folder: string): { path: string; file: string }[] {
  const home = `${folder}/`
  const sources = `${folder.split('/').slice(0, 3).join('/')}/`
  return [...tree]
    .filter(([path]) => path.startsWith(sources) && path.endsWith('.ts') && !path.startsWith(home))
    .flatMap(([path, text]) =>
      findImportedFiles(path, text)
        .filter((target) => target.startsWith(home))
        .map((target) => ({ path, file: target.slice(home.length) }))
    )
}
