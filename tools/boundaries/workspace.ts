import type { SourceTree } from './source-tree.ts'

/** What a package.json says, as far as the rules care. */
export interface Manifest {
  name: string
  exports?: Record<string, unknown>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

/** A package of the workspace; the root is the one whose folder is ''. */
export interface Workspace {
  folder: string
  manifest: Manifest
}

/** The part that a file plays in its package. */
export type Role = 'src' | 'test' | 'tool'

/** A TypeScript file, the package that it belongs to, and its part there. */
export interface SourceFile {
  path: string
  text: string
  role: Role
  workspace: Workspace
}

/** The packages of a tree, found by their package.json, the root first. */
export function findWorkspaces(tree: SourceTree): Workspace[] {
  const found: Workspace[] = []
  for (const [path, text] of tree) {
    const folder = /^(?:((?:packages|apps|tools)\/[^/]+)\/)?package\.json$/.exec(path)
    if (folder !== null) found.push({ folder: folder[1] ?? '', manifest: JSON.parse(text) as Manifest })
  }
  return found.toSorted((a, b) => (a.folder < b.folder ? -1 : 1))
}

const roleOf = (pathInside: string): Role =>
  pathInside.startsWith('src/') ? 'src' : pathInside.startsWith('test/') ? 'test' : 'tool'

/** The TypeScript files of a tree, each with its package. */
export function findSourceFiles(tree: SourceTree, workspaces = findWorkspaces(tree)): SourceFile[] {
  const root = workspaces.find(({ folder }) => folder === '')
  const files: SourceFile[] = []
  for (const [path, text] of tree) {
    if (!/\.[cm]?ts$/.test(path)) continue
    const workspace = workspaces.find(({ folder }) => folder !== '' && path.startsWith(`${folder}/`)) ?? root
    if (workspace === undefined) continue
    const inside = workspace.folder === '' ? path : path.slice(workspace.folder.length + 1)
    files.push({ path, text, role: roleOf(inside), workspace })
  }
  return files
}
