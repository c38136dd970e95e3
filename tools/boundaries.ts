import { checkDependencies, checkNodePrefix } from './boundaries/dependencies.ts'
import { checkConsole, checkNames, checkSizes } from './boundaries/files.ts'
import { checkLayers } from './boundaries/layers.ts'
import { checkLeaks, type Machine } from './boundaries/leaks.ts'
import { checkLogs } from './boundaries/logs.ts'
import { checkMap } from './boundaries/map.ts'
import { checkMarkdownPaths } from './boundaries/markdown-paths.ts'
import { checkSealedWire } from './boundaries/sealed-wire.ts'
import type { SourceTree } from './boundaries/source-tree.ts'

/** A rule of the house: what it says, and where a tree breaks it. */
export interface Rule {
  says: string
  check: (tree: SourceTree, machine: Machine) => string[]
}

/** The rules that hold for the whole repository, by name. */
export const rules = {
  layers: { says: 'packages form a star around the contract', check: checkLayers },
  dependencies: { says: 'declared and imported dependencies are the same', check: checkDependencies },
  nodePrefix: { says: 'modules of Node have their node: prefix', check: checkNodePrefix },
  sizes: { says: 'files are small', check: checkSizes },
  names: { says: 'files say what they hold', check: checkNames },
  console: { says: 'libraries do not write to the console', check: checkConsole },
  logs: { says: 'errors are logged without what they carry', check: checkLogs },
  sealedWire: { says: 'versions of A2A stay in its wire', check: checkSealedWire },
  markdownPaths: { says: 'paths in the documentation exist', check: checkMarkdownPaths },
  map: { says: 'the map in ARCHITECTURE.md is whole', check: checkMap },
  leaks: { says: 'nothing tells of the machine or its registry', check: checkLeaks }
} satisfies Record<string, Rule>
