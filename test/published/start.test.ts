import { join } from 'node:path'
import t from 'tap'
import { install, pack, run } from '../helpers/tarballs.ts'

// All that use the packages as built share a process.
t.setTimeout(300_000)

/** Files that the app below may load, most of them of Fastify, Ajv and Socket.IO. */
const MOST = 400

const app = t.testdir({
  'package.json': '{ "type": "module" }',
  // What Node has loaded until the app has answered, ES modules and CommonJS alike.
  'count.js': `
    import { registerHooks } from 'node:module'
    const files = new Set()
    registerHooks({
      load(url, context, next) {
        if (url.startsWith('file:')) files.add(url)
        return next(url, context)
      }
    })
    const report = () => console.log(JSON.stringify({
      files: [...files],
      builtins: process.moduleLoadList.filter((name) => /undici/.test(name))
    }))
    Object.assign(globalThis, { report })`,
  'app.js': `
    import a2a from '@svc/a2a'
    import gateway from '@svc/gateway'
    import http from '@svc/http'
    import registry, { createRegistry } from '@svc/registry'
    import { Agent, defineTool, Type } from '@svc/runtime'
    import { scriptedModel } from '@svc/runtime/testing'
    import store from '@svc/store'
    import Fastify from 'fastify'

    const own = createRegistry()
    const size = defineTool({
      name: 'size',
      description: 'The size of a text',
      input: Type.Object({ text: Type.String() }),
      execute: ({ text }) => text.length
    })
    new Agent({ name: 'parrot', model: scriptedModel('It works.'), tools: [size], registry: own })
    const app = Fastify()
    await app.register(store, { url: 'sqlite::memory:' })
    await app.register(registry, { registry: own })
    await app.register(http, { prefix: '/api' })
    await app.register(gateway)
    await app.register(a2a, { basePath: '/a2a' })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/api/agents/parrot/run',
      payload: { input: 'Does it?' }
    })
    if (statusCode !== 200) throw new Error(String(statusCode))
    report()
    process.exit()`,
  // Registries of TypeBox are variables of its modules.
  'registered.js': `
    import { FormatRegistry, Kind, Type, TypeRegistry } from '@sinclair/typebox'
    import { createRunEngine, defineRunnable } from '@svc/registry'

    FormatRegistry.Set('even', (text) => text.length % 2 === 0)
    TypeRegistry.Set('Odd', (_schema, value) => value % 2 === 1)
    const inputSchema = Type.Object({
      text: Type.String({ format: 'even' }),
      count: Type.Unsafe({ [Kind]: 'Odd' })
    })
    const counter = defineRunnable({ kind: 'agent', name: 'counter', inputSchema, run: async ({ text }) => text })
    const engine = createRunEngine()
    const codeOf = async (input) => {
      try {
        await engine.start(counter, input)
        return 'started'
      } catch (err) {
        return err.code
      }
    }
    console.log(JSON.stringify([
      await codeOf({ text: 'ab', count: 1 }),
      await codeOf({ text: 'abc', count: 1 }),
      await codeOf({ text: 'ab', count: 2 })
    ]))
    await engine.close()`
})
for (const name of ['contract', 'registry', 'surface', 'runtime', 'http', 'gateway', 'a2a', 'store'])
  await install(await pack(name), name, app)

t.test('an app loads few files', async (t) => {
  const { stdout } = await run(process.execPath, ['--import', join(app, 'count.js'), 'app.js'], app)
  const { files, builtins } = JSON.parse(stdout) as { files: string[]; builtins: string[] }
  const packages = new Map<string, number>()
  for (const file of files) {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? 'app'
    packages.set(name, (packages.get(name) ?? 0) + 1)
  }
  const most = [...packages].toSorted(([, a], [, b]) => b - a).slice(0, 12)
  t.ok(files.length <= MOST, `${files.length} files`, { found: Object.fromEntries(most) })
  for (const name of ['@sinclair/typebox', 'kysely'])
    t.notOk(packages.has(name), `${name} is in a file of ours`)
  t.strictSame(builtins, [], 'an app that fetches nothing has no HTTP client')
})

t.test('schemas have the formats and kinds that the app registered', async (t) => {
  const { stdout } = await run(process.execPath, ['registered.js'], app)
  t.equal(stdout.trim(), '["started","RUN_ERR_BAD_INPUT","RUN_ERR_BAD_INPUT"]')
})
