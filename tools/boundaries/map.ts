import { posix } from 'node:path'
import type { SourceTree } from './source-tree.ts'

const MAP = 'ARCHITECTURE.md'
const isRoom = /^packages\/[^/]+(?:\/src\/[^/]+)?$/

/** Every package, and every folder of its sources, is on the map. */
export function checkMap(tree: SourceTree): string[] {
  const map = tree.get(MAP) ?? ''
  const rooms = new Set<string>()
  for (const path of tree.keys()) {
    if (!path.endsWith('.ts')) continue
    for (let at = posix.dirname(path); at !== '.'; at = posix.dirname(at)) if (isRoom.test(at)) rooms.add(at)
  }
  const isShown = (room: string) => ['`', '/'].some((end) => map.includes(`\`${room}${end}`))
  return [...rooms].filter((room) => !isShown(room)).map((room) => `${room}: is not in ${MAP}`)
}
