import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import { codeBlocks, importsOf, isWhole } from '../helpers/code-blocks.ts'
import { compileAsUser, install, pack, run } from '../helpers/tarballs.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const DOCUMENTS = globSync(['README.md', 'docs/*.md', 'packages/*/README.md'], { cwd: ROOT }).toSorted()
const PACKAGES = [
  'contract',
  'registry',
  'surface',
  'testing',
  'runtime',
  'voice',
  'browser',
  'store',
  'http',
  'gateway',
  'a2a',
  'realtime',
  'mcp',
  'ui-stream',
  'ag-ui',
  'anthropic',
  'openai',
  'console'
]
// A missing module, or a name that it does not export.
const BAD_IMPORT = /error TS(?:2305|2307|2613|2614|2724):/

t.setTimeout(300_000)

/** A user's project with all packages as published, and the other packages that the documents install. */
const app = t.testdir({ documents: {}, common: {} })
for (const name of PACKAGES) await install(await pack(name), name, app)
const others = join(ROOT, 'apps/demo/node_modules')
const paths = globSync(['[!.@]*', '@*/*'], { cwd: others }).map((name) => [name, join(others, name)] as const)
for (const [name, path] of [...paths, ['zod', join(ROOT, 'packages/runtime/node_modules/zod')] as const]) {
  const link = join(app, 'node_modules', name)
  if (existsSync(link)) continue
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(realpathSync(path), link)
}

t.test('programs in the documents compile', async (t) => {
  const blocks = codeBlocks(DOCUMENTS)
  for (const { file, code } of blocks) writeFileSync(join(app, 'documents', file), code)
  writeFileSync(join(app, 'documents/package.json'), '{ "type": "module" }')
  const options = ['--noEmit', '--ignoreConfig', '--module', 'nodenext', '--types', 'node']
  const errors = await compileAsUser(app, ...options, ...blocks.map(({ file }) => join('documents', file)))
  t.strictSame(
    errors.filter((line) => line.startsWith('node_modules/')),
    [],
    'errors in the packages'
  )
  for (const block of blocks) {
    const own = errors.filter((line) => line.startsWith(`documents/${block.file}(`))
    const counted = isWhole(block, own) ? own : own.filter((line) => BAD_IMPORT.test(line))
    t.strictSame(counted, [], block.id)
  }
})

t.test('their imports exist at run time', async (t) => {
  const imports = codeBlocks(DOCUMENTS).flatMap(({ code }) => importsOf(code))
  const own = imports.filter(({ specifier }) => specifier.startsWith('@svc/'))
  t.ok(own.length > 40)
  const code = `for (const { specifier, names } of ${JSON.stringify(own)}) {
    const found = await import(specifier)
    for (const name of names) if (found[name] === undefined) console.log(specifier, name)
  }`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], app)
  t.equal(stdout, '')
})

const COMMON = `
import Fastify from 'fastify'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http, { buildInput, uploadPlugin } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'

async function main(): Promise<void> {
  const own = createRegistry()
  const agent = new Agent({ name: 'assistant', model: scriptedModel('It works.'), registry: own })
  const app = Fastify()
  await app.register(store, { url: 'sqlite::memory:' })
  await app.register(registry, { registry: own })
  await app.register(http, { prefix: '/api' })
  await app.register(gateway)
  await app.register(a2a, { basePath: '/a2a' })
  await app.register(uploadPlugin())
  app.post('/ask', ({ body, uploads }) => agent.run(buildInput(body, uploads?.files)))
  const url = '/api/agents/assistant/run'
  const response = await app.inject({ method: 'POST', url, payload: { input: 'Does it?' } })
  console.log(response.statusCode, response.json<{ text: string }>().text, app.runs.draining, app.io.path())
  await app.close()
}

main().catch((err: unknown) => {
  console.error(err)
  process.exitCode = 1
})
`

t.test('a CommonJS project compiles and runs', async (t) => {
  writeFileSync(join(app, 'common/package.json'), '{ "type": "commonjs" }')
  writeFileSync(join(app, 'common/app.ts'), COMMON)
  const options = ['--ignoreConfig', '--module', 'nodenext', '--types', 'node']
  t.strictSame(await compileAsUser(app, ...options, 'common/app.ts'), [])
  const { stdout } = await run(process.execPath, ['common/app.js'], app)
  t.equal(stdout, '200 It works. false /socket.io\n')
})

t.test(
  'the types of every entry compile with the newest and the oldest types of Node and of Fastify',
  async (t) => {
    const entries = PACKAGES.flatMap((name) => {
      const manifest = readFileSync(join(app, 'node_modules/@svc', name, 'package.json'), 'utf8')
      const { exports } = JSON.parse(manifest) as { exports: Record<string, unknown> }
      return Object.keys(exports).map((entry) => `import '@svc/${name}${entry.slice(1)}'\n`)
    })
    t.ok(entries.length > PACKAGES.length)
    const folder = join(app, 'variants')
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'entries.ts'), entries.join(''))
    const link = join(app, 'node_modules/fastify')
    for (const [node, fastify] of [
      ['newest', 'fastify'],
      ['oldest', 'fastify-oldest']
    ] as const) {
      const path = realpathSync(join(ROOT, 'node_modules', fastify))
      // The plugins of others resolve it from their own folders, unless it is mapped.
      const compilerOptions = {
        noEmit: true,
        module: 'nodenext',
        types: ['node'],
        typeRoots: [node],
        paths: { fastify: [path] }
      }
      const config = join(folder, `${node}.json`)
      writeFileSync(config, JSON.stringify({ compilerOptions, files: ['entries.ts'] }))
      mkdirSync(join(folder, node))
      symlinkSync(realpathSync(join(ROOT, `node_modules/types-node-${node}`)), join(folder, node, 'node'))
      rmSync(link)
      symlinkSync(path, link)
      t.strictSame(await compileAsUser(app, '-p', config), [], `${node} types of Node, ${fastify}`)
    }
  }
)
