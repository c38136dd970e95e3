import { checkDependencies } from './boundaries/dependencies.ts'
import { checkLayers } from './boundaries/layers.ts'
import { checkLeaks, type Machine } from './boundaries/leaks.ts'
import { checkLogs } from './boundaries/logs.ts'
import { checkMap } from './boundaries/map.ts'
import { checkMarkdownPaths } from './boundaries/markdown-paths.ts'
import { checkSealedWire } from './boundaries/sealed-wire.ts'
import type { SourceTree } from './boundaries/source-tree.ts'

/** A rule of this repository: its sentence, and a check that returns the places that break it. */
export interface Rule {
  says: string
  check: (tree: SourceTree, machine: Machine) => string[]
}

/** The rules that hold for the whole repository, by name. */
export const rules = {
  layers: { says: 'a package imports only those below it', check: checkLayers },
  dependencies: { says: 'declared and imported dependencies are the same', check: checkDependencies },
  logs: { says: 'errors are logged without what they carry', check: checkLogs },
  sealedWire: { says: 'versions of A2A stay in its wire', check: checkSealedWire },
  markdownPaths: { says: 'paths in the documentation exist', check: checkMarkdownPaths },
  map: { says: 'the map in ARCHITECTURE.md is whole', check: checkMap },
  leaks: { says: 'no file names this machine or its registry', check: checkLeaks }
} satisfies Record<string, Rule>
