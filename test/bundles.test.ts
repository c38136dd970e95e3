import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { rolldown } from 'rolldown'
import t, { type Test } from 'tap'
import webpack from 'webpack'

const ROOT = resolve(import.meta.dirname, '..')
const CONDITION = '@svc/source'
const PAGE = join(ROOT, 'packages/console/src/built-page.ts')
/** As in the documents: optional packages, which an app installs if it uses them. */
const EXTERNAL = [
  '@fastify/jwt',
  '@grpc/grpc-js',
  '@modelcontextprotocol/sdk',
  '@opentelemetry/api',
  'bufferutil',
  'onnxruntime-web',
  'pg',
  'playwright-core',
  'utf-8-validate'
]
const isExternal = (id: string) => EXTERNAL.some((name) => id === name || id.startsWith(`${name}/`))

/** An app with every package: it prints what a tool in the sandbox, another wire and the console answer. */
const APP = `
import Fastify from 'fastify'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import consolePage from '@svc/console'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import realtime from '@svc/realtime'
import registry, { createRegistry } from '@svc/registry'
import { Agent, codeTool } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import uiStream from '@svc/ui-stream'

async function main() {
  const own = createRegistry()
  const call = { toolName: 'compute', args: { code: 'return 6 * 7' } }
  const model = scriptedModel([{ toolCalls: [call] }, 'Done.'])
  new Agent({ name: 'analyst', model, tools: [codeTool({ name: 'compute' })], registry: own })
  new Agent({ name: 'parrot', model: scriptedModel('It works.'), registry: own })
  const app = Fastify()
  await app.register(store, { url: 'sqlite::memory:' })
  await app.register(registry, { registry: own })
  await app.register(http, { prefix: '/api' })
  await app.register(gateway)
  await app.register(a2a, { basePath: '/a2a' })
  await app.register(uiStream, { prefix: '/ui' })
  await app.register(agUi, { prefix: '/ag-ui' })
  await app.register(anthropic, { prefix: '/managed' })
  await app.register(mcp)
  await app.register(openAi, { prefix: '/v1' })
  await app.register(realtime, { prefix: '/v1' })
  await app.register(consolePage, { prefix: '/console' })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'content-type': 'application/json' }
  const post = async (path, body) =>
    (await fetch(address + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const run = await post('/api/agents/analyst/run', { input: 'How much?' })
  const response = await post('/v1/responses', { model: 'parrot', input: 'Does it?' })
  const page = await (await fetch(address + '/console/')).text()
  console.log(JSON.stringify([
    run.toolCalls?.[0]?.result?.result ?? run,
    response.output?.[0]?.content?.[0]?.text ?? response,
    page.includes('the page')
  ]))
  await app.close()
}

main().then(() => process.exit(), (err) => {
  console.error(err)
  process.exit(1)
})
`

/** The bundles are in `out`, and beside them what is installed for the files of the console's page. */
const dir = t.testdir({
  'app.js': APP,
  'strip-types.cjs': "module.exports = require('node:module').stripTypeScriptTypes",
  'out/node_modules/@svc/console': {
    'package.json': '{ "name": "@svc/console", "exports": "./dist/index.js" }',
    dist: { 'index.js': '', page: { 'index.html': '<html><head></head><body>the page</body></html>' } }
  }
})
const entry = join(dir, 'app.js')
const outputOf = (name: string) => join(dir, 'out', name)
const execute = promisify(execFile)

async function starts(t: Test, name: string): Promise<void> {
  const args = [`--conditions=${CONDITION}`, outputOf(name)]
  const options = { cwd: '/', timeout: 60_000, killSignal: 'SIGKILL' } as const
  const { stdout, stderr } = await execute(process.execPath, args, options).catch(
    (err: unknown) => err as { stdout: string; stderr: string }
  )
  t.equal(stdout, '[42,"It works.",true]\n', stderr.slice(0, 2_000))
}

t.test('esbuild', async (t) => {
  const common = {
    entryPoints: [entry],
    bundle: true,
    conditions: [CONDITION],
    external: EXTERNAL,
    alias: { '#page': PAGE }
  }
  const js =
    "import { createRequire as toRequire } from 'node:module'; const require = toRequire(import.meta.url)"
  await build({
    ...common,
    platform: 'node',
    logLevel: 'silent',
    format: 'esm',
    outfile: outputOf('esbuild.mjs'),
    banner: { js }
  })
  await starts(t, 'esbuild.mjs')
  await build({
    ...common,
    platform: 'node',
    logLevel: 'silent',
    format: 'cjs',
    outfile: outputOf('esbuild.cjs')
  })
  await starts(t, 'esbuild.cjs')
})

t.test('rolldown', async (t) => {
  const resolveOptions = { conditionNames: [CONDITION], alias: { '#page': PAGE } }
  const bundle = await rolldown({
    input: entry,
    platform: 'node',
    external: isExternal,
    resolve: resolveOptions,
    logLevel: 'silent'
  })
  await bundle.write({
    dir: join(dir, 'out'),
    format: 'esm',
    entryFileNames: 'rolldown.mjs',
    chunkFileNames: 'rolldown-[hash].mjs'
  })
  await bundle.close()
  await starts(t, 'rolldown.mjs')
})

t.test('webpack', async (t) => {
  const compiler = webpack({
    entry,
    target: 'node',
    mode: 'none',
    devtool: false,
    context: ROOT,
    output: { path: join(dir, 'out'), filename: 'webpack.cjs', chunkFilename: 'webpack-[id].cjs' },
    resolve: { conditionNames: [CONDITION, '...'], alias: { '#page': PAGE } },
    module: { rules: [{ test: /\.ts$/, loader: join(dir, 'strip-types.cjs') }] },
    externals: [
      ({ request }, done) => (isExternal(request) ? done(undefined, `commonjs ${request}`) : done())
    ],
    // As if the bundle were moved to another machine.
    plugins: [new webpack.DefinePlugin({ 'import.meta.url': '"file:///elsewhere/app.js"' })]
  })
  const stats = await promisify(compiler.run.bind(compiler))()
  t.strictSame(
    stats?.toJson({ all: false, errors: true }).errors?.map(({ message }) => message),
    []
  )
  await starts(t, 'webpack.cjs')
})
