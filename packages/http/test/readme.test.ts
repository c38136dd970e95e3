import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { HttpOptionsSchema, SwaggerOptionsSchema } from '@svc/http'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { buildApp } from './helpers/build-app.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

/** The rows of the table under a heading, each with the text of its cells. */
function tableUnder(heading: string): string[][] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', ''))
  )
}

t.test('the example runs', async (t) => {
  const [, code = ''] = /```ts\n([^]*?)```/.exec(readme) ?? []
  const quiet = code.replace('port: 3000', 'port: 0').replace('logger: true, ', '')
  const file = resolve(t.testdir({ 'example.ts': `${quiet}\nexport { app }\n` }), 'example.ts')
  const { app } = (await import(pathToFileURL(file).href)) as { app: FastifyInstance }
  t.teardown(() => app.close())
  const response = await app.inject({
    method: 'POST',
    url: '/api/agents/echo/run',
    payload: { input: 'Hello' }
  })
  t.match(response.json(), { text: 'You said: Hello' })
})

t.test('the table of options is the schema', async (t) => {
  const documented = tableUnder('Options').map(([name]) => name ?? '')
  const known = Object.entries(HttpOptionsSchema.properties).flatMap(([name, schema]) => {
    const { properties } = schema as { properties?: object }
    // What is inside of `rateLimit` is another package's.
    return name !== 'rateLimit' && properties && Object.keys(properties).length > 0
      ? Object.keys(properties).map((key) => `${name}.${key}`)
      : [name]
  })
  t.strictSame(documented.toSorted(), known.toSorted())
})

t.test('the table of the options of OpenAPI is the schema', async (t) => {
  const documented = tableUnder('OpenAPI').map(([name]) => name ?? '')
  t.strictSame(documented, Object.keys(SwaggerOptionsSchema.properties))
})

t.test('the table of routes matches the app', async (t) => {
  const routes: string[] = []
  await buildApp(t, {
    // With it, there are all.
    options: { authenticate: () => null },
    before: (app) =>
      app.addHook('onRoute', ({ method, url }) => {
        if (method !== 'HEAD') routes.push(`${String(method)} ${url.replace('/api', '')}`)
      })
  })
  const documented = tableUnder('Routes').flatMap(([paths]) => {
    const [, method, list = ''] = /^([A-Z]+) (.*)$/.exec(paths ?? '') ?? []
    return method === undefined ? [] : list.split(' · ').map((path) => `${method} ${path}`)
  })
  t.strictSame(documented.toSorted(), routes.toSorted())
})
