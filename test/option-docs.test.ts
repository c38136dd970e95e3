import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'

const ROOT = new URL('../', import.meta.url)
/** The packages whose plugins, classes or functions take options. */
const PACKAGES =
  'a2a ag-ui anthropic browser console gateway http mcp openai realtime registry runtime store ui-stream voice'

/** The option schemas of a package: what any of its modules exports as `…OptionsSchema`. */
async function schemasOf(name: string): Promise<TSchema[]> {
  const found = new Map<string, TSchema>()
  const source = fileURLToPath(new URL(`packages/${name}/src/`, ROOT))
  for (const file of await readdir(source, { recursive: true })) {
    if (!/^(?!.*\.d\.ts$).*\.ts$/.test(file)) continue
    if (!/^export .*OptionsSchema\b/m.test(await readFile(`${source}${file}`, 'utf8'))) continue
    const exported = (await import(pathToFileURL(`${source}${file}`).href)) as Record<string, unknown>
    for (const [key, value] of Object.entries(exported))
      if (key.endsWith('OptionsSchema') && !FOREIGN_SCHEMAS.has(key)) found.set(key, value as TSchema)
  }
  return [...found.values()]
}

/** Options whose contents belong to other packages, and are documented there. */
const FOREIGN = new Set(['cors', 'rateLimit'])
const FOREIGN_SCHEMAS = new Set(['CorsOptionsSchema', 'RateLimitOptionsSchema', 'SwaggerOptionsSchema'])

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
  for (const name of PACKAGES.split(' ')) {
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
  for (const name of PACKAGES.split(' '))
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
