import { readdirSync, readFileSync } from 'node:fs'
import { a2aWires } from './a2a.ts'
import { agUiWire } from './ag-ui.ts'
import { httpWire } from './http.ts'
import { managedAgentsWire } from './managed-agents.ts'
import { mcpWires } from './mcp.ts'
import { openAiWires } from './openai-responses.ts'
import { sockets } from './sockets.ts'
import { uiStreamWire } from './ui-stream.ts'
import type { WireAdapter } from './wire.ts'

/** Every wire that starts runs of agents, teams and workflows. */
export const ADAPTERS: readonly WireAdapter[] = [
  httpWire,
  sockets,
  a2aWires,
  uiStreamWire,
  mcpWires,
  agUiWire,
  openAiWires,
  managedAgentsWire
]

/** Packages with a surface that is none of these, with the reason. */
export const NO_WIRES: Readonly<Record<string, string>> = {
  '@svc/realtime': 'it serves calls of voice agents only; test/voice-across-surfaces.test.ts has them'
}

/** The packages that have a surface: those with a `surface.ts`, and those in the table of `docs/wires.md`. */
export function packagesWithSurfaces(): string[] {
  const root = new URL('../../../', import.meta.url)
  const bySource = readdirSync(new URL('packages/', root)).filter((name) =>
    readdirSync(new URL(`packages/${name}/src/`, root), { recursive: true }).some((path) =>
      /(?:^|\/)surface\.ts$/.test(String(path))
    )
  )
  const documented = readFileSync(new URL('docs/wires.md', root), 'utf8').matchAll(
    /^\|.*\[(@svc\/[\w-]+)\]/gm
  )
  const found = new Set([
    ...bySource.map((name) => `@svc/${name}`),
    ...[...documented].map(([, name]) => name!)
  ])
  return [...found].toSorted()
}
