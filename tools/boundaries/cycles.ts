import { findImportedFiles } from './imports.ts'
import type { SourceTree } from './source-tree.ts'

/** One recursive type, written in two files: a flow has nodes, a node holds flows. */
const allowed = new Set([
  'packages/runtime/src/workflows/flow.ts packages/runtime/src/workflows/flow-node.ts'
])

/** No file imports itself by way of others; imports of types count. */
export function checkCycles(tree: SourceTree): string[] {
  const graph = importGraph(tree)
  const found = new Set<string>()
  for (const start of graph.keys()) {
    const cycle = shortestCycle(graph, start)
    if (cycle !== null) found.add(rotated(cycle).join(' '))
  }
  return [...found]
    .filter((cycle) => !isAllowed(cycle))
    .map((cycle) => `${cycle.replaceAll(' ', ' → ')}: files that import each other`)
}

const isAllowed = (cycle: string) =>
  allowed.has(cycle) || allowed.has(cycle.split(' ').toReversed().join(' '))

function importGraph(tree: SourceTree): Map<string, string[]> {
  const graph = new Map<string, string[]>()
  for (const [path, text] of tree) {
    if (!/\/src\/.*\.ts$/.test(path)) continue
    graph.set(path, findImportedFiles(path, text))
  }
  return graph
}

/** Breadth first, so that the answer is the shortest way back to the start. */
function shortestCycle(graph: Map<string, string[]>, start: string): string[] | null {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const path of queue) {
    for (const target of graph.get(path) ?? []) {
      if (target === start) return wayTo(path, start, cameFrom)
      if (cameFrom.has(target)) continue
      cameFrom.set(target, path)
      queue.push(target)
    }
  }
  return null
}

function wayTo(end: string, start: string, cameFrom: Map<string, string>): string[] {
  const way = [end]
  for (let at = end; at !== start; way.unshift(at)) at = cameFrom.get(at) ?? start
  return way
}

/** The same cycle from its first file by name, so that each shows once. */
function rotated(cycle: string[]): string[] {
  const first = cycle.indexOf(cycle.toSorted()[0] ?? '')
  return [...cycle.slice(first), ...cycle.slice(0, first)]
}
