import { isBuiltin } from 'node:module'
import { findImports, packageOf } from './imports.ts'
import type { SourceTree } from './source-tree.ts'
import { findSourceFiles, findWorkspaces, type SourceFile, type Workspace } from './workspace.ts'

const isNodeModule = (specifier: string) => specifier.startsWith('node:') || isBuiltin(specifier)

/** What is imported is declared where it must be, and what is declared for users is imported in src. */
export function checkDependencies(tree: SourceTree): string[] {
  const workspaces = findWorkspaces(tree)
  const files = findSourceFiles(tree, workspaces)
  const root = workspaces.find(({ folder }) => folder === '')
  return [
    ...files.flatMap((file) => checkDeclared(file, root)),
    ...workspaces.flatMap((workspace) => checkUsed(workspace, files))
  ]
}

function packagesOf(text: string): string[] {
  const bare = findImports(text).filter((specifier) => !/^[.#]/.test(specifier) && !isNodeModule(specifier))
  return [...new Set(bare.map(packageOf))]
}

const forUsers = ({ manifest }: Workspace) => [
  ...Object.keys(manifest.dependencies ?? {}),
  ...Object.keys(manifest.optionalDependencies ?? {}),
  ...Object.keys(manifest.peerDependencies ?? {})
]

/** What tests of the packages below them use, which cannot declare them without a circle. */
const forTests = ['@svc/registry', '@svc/surface', '@svc/testing']

function checkDeclared(file: SourceFile, root: Workspace | undefined): string[] {
  const { workspace } = file
  const allowed = new Set(forUsers(workspace))
  if (file.role !== 'src') {
    for (const name of Object.keys(workspace.manifest.devDependencies ?? {})) allowed.add(name)
    for (const name of Object.keys(root?.manifest.devDependencies ?? {})) {
      if (workspace === root || !name.startsWith('@svc/') || forTests.includes(name)) allowed.add(name)
    }
    allowed.add(workspace.manifest.name)
  }
  return packagesOf(file.text)
    .filter((name) => !allowed.has(name))
    .map((name) => `${file.path}: ${name} is not declared in ${workspace.folder || 'the root'}/package.json`)
}

function checkUsed(workspace: Workspace, files: SourceFile[]): string[] {
  // A package of tools has no users.
  if (workspace.folder.startsWith('tools/')) return []
  const own = files.filter(
    (file) => file.workspace === workspace && (file.role === 'src' || workspace.folder === '')
  )
  const used = new Set(own.flatMap(({ text }) => packagesOf(text)))
  return (
    forUsers(workspace)
      // The types of another package may refer to it.
      .filter((name) => !used.has(name) && !name.startsWith('@types/'))
      .map(
        (name) =>
          `${workspace.folder || 'the root'}/package.json: ${name} is declared and never imported in src`
      )
  )
}
