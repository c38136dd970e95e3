import { readdir, readFile } from 'node:fs/promises'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'

const ROOT = new URL('../', import.meta.url)
/** The modules with the option schemas of each package. */
const MODULES: Readonly<Record<string, readonly string[]>> = {
  a2a: ['options.ts', 'client/remote-options.ts', 'cards/card-options.ts', 'grpc/grpc-options.ts'],
  console: ['options.ts'],
  gateway: ['options.ts'],
  http: ['options.ts'],
  mcp: ['options.ts'],
  openai: ['index.ts'],
  realtime: ['options.ts'],
  registry: ['options.ts'],
  runtime: [
    'agents/agent-options.ts',
    'teams/team-options.ts',
    'tools/define-tool.ts',
    'workflows/workflow-options.ts'
  ],
  browser: ['browser-agent.ts', 'plan-browser.ts', 'chromium/launch.ts'],
  voice: ['voice-options.ts'],
  store: ['options.ts'],
  'ui-stream': ['index.ts'],
  'ag-ui': ['index.ts']
}

async function schemasOf(name: string): Promise<TSchema[]> {
  const urls = MODULES[name]!.map((file) => new URL(`packages/${name}/src/${file}`, ROOT).href)
  const modules = (await Promise.all(urls.map((url) => import(url)))) as Record<string, unknown>[]
  const ending = MODULES[name]!.includes('index.ts') ? 'OptionsSchema' : 'Schema'
  return modules.flatMap((exported) =>
    Object.entries(exported).flatMap(([key, value]) => (key.endsWith(ending) ? [value as TSchema] : []))
  )
}

/** Options whose contents belong to other packages, and are documented there. */
const FOREIGN = new Set(['cors', 'rateLimit'])

/** The names of all options, including nested ones. */
function* namesOf({ properties, anyOf, allOf }: TSchema): Iterable<string> {
  for (const [name, schema] of Object.entries((properties as Record<string, TSchema> | undefined) ?? {})) {
    yield name
    if (!FOREIGN.has(name)) yield* namesOf(schema)
  }
  for (const schema of [...((anyOf ?? []) as TSchema[]), ...((allOf ?? []) as TSchema[])])
    yield* namesOf(schema)
}

t.test('every option of every package is in its README or in the documentation', async (t) => {
  const docs = await readdir(new URL('docs', ROOT))
  const shared = await Promise.all(docs.map((name) => readFile(new URL(`docs/${name}`, ROOT), 'utf8')))
  for (const name of Object.keys(MODULES)) {
    const schemas = await schemasOf(name)
    t.not(schemas.length, 0)
    // Agents with a browser or a voice take the options of other agents too.
    const pages = name === 'browser' || name === 'voice' ? [name, 'runtime'] : [name]
    const readmes = pages.map((each) => readFile(new URL(`packages/${each}/README.md`, ROOT), 'utf8'))
    const page = (await Promise.all(readmes)).join('\n')
    const text = [page, ...shared].join('\n')
    const missing = [...new Set(schemas.flatMap((schema) => [...namesOf(schema)]))].filter(
      (option) => !new RegExp(`\\b${option}\\b`).test(text)
    )
    t.same(missing, [], name)
  }
})

t.test('what `true` switches on, `false` switches off', async (t) => {
  const switches: string[] = []
  for (const name of Object.keys(MODULES))
    for (const schema of await schemasOf(name))
      for (const [option, value] of Object.entries(
        (schema.properties as Record<string, TSchema> | undefined) ?? {}
      )) {
        if (!accepts(value, true)) continue
        switches.push(`${name}/${option}`)
        t.ok(accepts(value, false), `${name}/${option}: false`)
      }
  for (const each of [
    'http/fileUpload',
    'http/swagger',
    'http/cors',
    'gateway/asyncApi',
    'a2a/pushNotifications'
  ])
    t.ok(switches.includes(each), each)
})

// Schemas of functions and of instances are of kinds that only their package checks.
function accepts(schema: TSchema, value: boolean): boolean {
  try {
    return Value.Check(schema, value)
  } catch {
    return false
  }
}
