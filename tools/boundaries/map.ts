import { posix } from 'node:path'
import type { SourceTree } from './source-tree.ts'

const MAP = 'ARCHITECTURE.md'
const isFolder = /^packages\/[^/]+$/

/** Every package is on the map. */
export function checkMap(tree: SourceTree): string[] {
  const map = tree.get(MAP) ?? ''
  const folders = new Set<string>()
  for (const path of tree.keys()) {
    if (!path.endsWith('.ts')) continue
    for (let at = posix.dirname(path); at !== '.'; at = posix.dirname(at))
      if (isFolder.test(at)) folders.add(at)
  }
  const isShown = (folder: string) => ['`', '/'].some((end) => map.includes(`\`${folder}${end}`))
  return [...folders].filter((folder) => !isShown(folder)).map((folder) => `${folder}: is not in ${MAP}`)
}
