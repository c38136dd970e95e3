import { posix } from 'node:path'
import { findImports, packageOf } from './imports.ts'
import type { SourceTree } from './source-tree.ts'
import { findSourceFiles, findWorkspaces, type SourceFile, type Workspace } from './workspace.ts'

const scope = '@svc/'

/** What the sources of each package may import; a wire, and what is not named here, the contract and its door. */
const below: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  registry: ['contract'],
  surface: ['contract', 'registry'],
  testing: ['contract', 'registry'],
  store: ['contract', 'registry'],
  runtime: ['contract', 'registry'],
  voice: ['contract', 'registry', 'runtime'],
  browser: ['contract', 'registry', 'runtime']
}
const belowWires = ['contract', 'surface']

/** The house: a package imports only those below it, by their entries, and no wire imports another. */
export function checkLayers(tree: SourceTree): string[] {
  const workspaces = findWorkspaces(tree)
  return findSourceFiles(tree, workspaces).flatMap((file) =>
    findImports(file.text).flatMap((specifier) => {
      const problem = specifier.startsWith('.')
        ? checkPath(file, specifier)
        : specifier.startsWith(scope)
          ? checkName(file, specifier, workspaces)
          : null
      return problem === null ? [] : [`${file.path}: ${problem}`]
    })
  )
}

function checkPath(file: SourceFile, specifier: string): string | null {
  const target = posix.join(posix.dirname(file.path), specifier)
  const { folder } = file.workspace
  if (folder === '') {
    return target.startsWith('packages/') ? `imports the inside of a package by path: ${specifier}` : null
  }
  const home = file.role === 'src' ? `${folder}/src/` : `${folder}/`
  return target.startsWith(home) ? null : `leaves ${home} by path: ${specifier}`
}

function checkName(file: SourceFile, specifier: string, workspaces: Workspace[]): string | null {
  const name = packageOf(specifier)
  const target = workspaces.find(({ manifest }) => manifest.name === name)
  if (target === undefined) return `imports ${name}, which is no package here`
  const entry = `.${specifier.slice(name.length)}`
  if (!Object.keys(target.manifest.exports ?? {}).includes(entry))
    return `imports ${specifier}, which is no entry of ${name}`
  if (file.role !== 'src' || !file.workspace.folder.startsWith('packages/')) return null
  if (name === file.workspace.manifest.name) return `imports its own package by name: ${specifier}`
  const allowed = below[file.workspace.manifest.name.slice(scope.length)] ?? belowWires
  return allowed.includes(name.slice(scope.length))
    ? null
    : `imports ${specifier}: it may import ${allowed.join(', ') || 'no package of ours'}`
}
