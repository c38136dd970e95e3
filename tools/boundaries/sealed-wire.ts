import { findImportedFiles } from './imports.ts'
import type { SourceTree } from './source-tree.ts'

const sources = 'packages/a2a/src/'
const wire = `${sources}wire/`
/** The operation table names each operation in each version. */
const table = `${sources}operations.ts`
const versionFolder = /^packages\/a2a\/src\/wire\/(v[\d.]+)\//
/** Not `2.0`, which is JSON-RPC's. */
const versionLiteral = /(['"])[01]\.\d+\1/

/** Versions of A2A stay in its wire: others see codecs, and no version imports another one. */
export function checkSealedWire(tree: SourceTree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!path.startsWith(sources) || !path.endsWith('.ts')) return []
    const problems = findImportedFiles(path, text)
      .map((target) => checkImport(path, target))
      .filter((problem) => problem !== null)
    if (path.startsWith(wire) || path === table) return problems
    return [...problems, ...checkLiterals(path, text)]
  })
}

function checkImport(path: string, target: string): string | null {
  const version = versionFolder.exec(target)?.[1]
  if (version === undefined) return null
  if (!path.startsWith(wire)) return `${path}: imports ${version}, take its codec from wire/codec-for.ts`
  const own = versionFolder.exec(path)?.[1]
  if (own === undefined || own === version) return null
  return `${path}: imports ${version}, what both share stands in wire`
}

function checkLiterals(path: string, text: string): string[] {
  return withoutComments(text)
    .split('\n')
    .flatMap((line, index) =>
      versionLiteral.test(line) ? [`${path}:${index + 1}: names a version, make it a trait of the codec`] : []
    )
}

/** Blanks comments and keeps the lines. */
const withoutComments = (text: string) =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|\s)\/\/.*$/gm, '$1')
