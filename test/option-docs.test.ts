import { readdir, readFile } from 'node:fs/promises'
import type { TSchema } from '@sinclair/typebox'
import t from 'tap'
import { RemoteAgentOptionsSchema } from '../packages/a2a/src/client/remote-options.ts'
import { A2aOptionsSchema } from '../packages/a2a/src/options.ts'
import { GatewayOptionsSchema } from '../packages/gateway/src/options.ts'
import { HttpOptionsSchema } from '../packages/http/src/options.ts'
import { PluginOptionsSchema } from '../packages/registry/src/options.ts'
import { AgentOptionsSchema, ToolOptionsSchema } from '../packages/runtime/src/options.ts'
import { TeamOptionsSchema } from '../packages/runtime/src/teams/team-options.ts'
import { StoreOptionsSchema } from '../packages/store/src/options.ts'

const ROOT = new URL('../', import.meta.url)
const SCHEMAS: Readonly<Record<string, readonly TSchema[]>> = {
  a2a: [A2aOptionsSchema, RemoteAgentOptionsSchema],
  gateway: [GatewayOptionsSchema],
  http: [HttpOptionsSchema],
  registry: [PluginOptionsSchema],
  runtime: [AgentOptionsSchema, ToolOptionsSchema, TeamOptionsSchema],
  store: [StoreOptionsSchema]
}

/** The names of all options, those within others included. */
function* namesOf({ properties, anyOf, allOf }: TSchema): Iterable<string> {
  for (const [name, schema] of Object.entries((properties as Record<string, TSchema> | undefined) ?? {})) {
    yield name
    yield* namesOf(schema)
  }
  for (const schema of [...((anyOf ?? []) as TSchema[]), ...((allOf ?? []) as TSchema[])])
    yield* namesOf(schema)
}

t.test('every option of every package is in its README or in the documentation', async (t) => {
  const docs = await readdir(new URL('docs', ROOT))
  const shared = await Promise.all(docs.map((name) => readFile(new URL(`docs/${name}`, ROOT), 'utf8')))
  for (const [name, schemas] of Object.entries(SCHEMAS)) {
    const page = await readFile(new URL(`packages/${name}/README.md`, ROOT), 'utf8')
    const text = [page, ...shared].join('\n')
    const missing = [...new Set(schemas.flatMap((schema) => [...namesOf(schema)]))].filter(
      (option) => !new RegExp(`\\b${option}\\b`).test(text)
    )
    t.same(missing, [], name)
  }
})
