import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkPackage, createPackageFromTarballData, type Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import t from 'tap'
import { membersOf } from '../helpers/code-blocks.ts'
import { bin, compileAsUser, install, pack, run } from '../helpers/tarballs.ts'

const root = resolve(import.meta.dirname, '../..')

t.setTimeout(300_000)

/** The resolutions that attw's profile `esm-only` ignores: tools that cannot load ES modules. */
const withoutEsm = new Set(['node10', 'node16-cjs'])

interface Manifest {
  name: string
  version: string
  dependencies?: Record<string, string>
  exports: Record<string, object>
}

function readManifest(pkg: Package): Manifest {
  return JSON.parse(pkg.readFile(`/node_modules/${pkg.packageName}/package.json`)) as Manifest
}

const isPublic = (name: string) =>
  !/"private": true/.test(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))

const packages = readdirSync(join(root, 'packages')).filter(isPublic)

for (const name of packages) {
  t.test(`@svc/${name} as published`, async (t) => {
    const tarballPath = await pack(name)
    const tarball = Uint8Array.from(readFileSync(tarballPath))

    await t.test('publint finds no problems', async (t) => {
      const { messages } = await publint({
        pack: { tarball: tarball.slice().buffer },
        strict: true
      })
      t.strictSame(messages, [])
    })

    const pkg = createPackageFromTarballData(tarball)
    const manifest = readManifest(pkg)

    await t.test('its types are correct for every entry', async (t) => {
      const analysis = await checkPackage(pkg)
      if (!analysis.types) throw new Error('no types in the tarball')
      t.strictSame(
        analysis.problems.filter(
          (found) => !('resolutionKind' in found && withoutEsm.has(found.resolutionKind))
        ),
        []
      )
    })

    await t.test('its types need no optional peer, and declare what it adds to an app', async (t) => {
      const program = [
        ...Object.keys(manifest.exports).map((entry) => `import '${join(manifest.name, entry)}'`),
        "import Fastify, { type FastifyRequest } from 'fastify'",
        'const app = Fastify()',
        'const request = {} as FastifyRequest',
        ...membersOf(`packages/${name}/README.md`).map((member) => `void ${member}`)
      ].join('\n')
      const app = t.testdir({
        'package.json': '{ "type": "module" }',
        'app.ts': program,
        'common.cts': program
      })
      await install(tarballPath, name, app)
      const files = ['app.ts', 'common.cts']
      const options = ['--noEmit', '--ignoreConfig', '--module', 'nodenext', '--types', 'node']
      t.strictSame(await compileAsUser(app, ...options, ...files), [])
    })

    await t.test('it contains what users need, and nothing else of the workspace', async (t) => {
      const own = `/node_modules/@svc/${name}/`
      const files = pkg.listFiles(own).map((path) => path.slice(own.length))
      for (const path of ['LICENSE', 'README.md', 'dist/index.js', 'src/index.ts'])
        t.ok(files.includes(path), path)
      const allowed = /^(?:LICENSE|README\.md|CHANGELOG\.md|package\.json|(?:dist|src|node_modules)\/.+)$/
      t.strictSame(
        files.filter((path) => !allowed.test(path) || path.endsWith('.tsbuildinfo')),
        []
      )
      t.notMatch(JSON.stringify(manifest), /workspace:|catalog:|@svc\/source/)
    })

    await t.test('it depends on the release of its siblings that it was tested with', async (t) => {
      for (const [sibling, range] of Object.entries(manifest.dependencies ?? {}))
        if (sibling.startsWith('@svc/')) t.equal(range, manifest.version, sibling)
    })

    if (name === 'console')
      await t.test('its page is in the tarball, and needs no bundler', async (t) => {
        const app = t.testdir()
        await install(tarballPath, name, app)
        const code = `import consolePage from '@svc/console'
          import { createRequire } from 'node:module'
          import Fastify from 'fastify'
          const app = Fastify()
          await app.register(consolePage, { prefix: '/console' })
          const { statusCode, body } = await app.inject('/console/')
          const [script] = /assets\\/console-\\w+\\.js/.exec(body)
          const found = await app.inject({ url: '/console/' + script, headers: { 'accept-encoding': 'br' } })
          let bundler = false
          try { bundler = createRequire(import.meta.url).resolve('esbuild').startsWith(process.cwd()) } catch {}
          console.log(statusCode, found.statusCode, found.headers['content-encoding'], bundler)`
        const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], app)
        t.equal(stdout.trim(), '200 200 br false')
      })

    if (name === 'runtime')
      await t.test('its sandbox finds its child script if only the tarball is installed', async (t) => {
        const app = t.testdir()
        await install(tarballPath, name, app)
        const code = `import { quickJsSandbox } from '@svc/runtime'
          const sandbox = quickJsSandbox()
          console.log((await sandbox.run({ code: 'return input * 2', input: 21, tools: {} })).result)`
        const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], app)
        t.equal(stdout.trim(), '42')
      })
  })
}

t.test('every entry loads from the build', async (t) => {
  const entries = packages.flatMap((name) => {
    const manifest = JSON.parse(
      readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')
    ) as Manifest
    return Object.keys(manifest.exports).map((entry) => {
      const isPlugin = existsSync(join(root, 'packages', name, 'src', entry, 'plugin.ts'))
      return [join(manifest.name, entry), isPlugin ? 'function' : 'undefined'] as const
    })
  })
  const code = `const specifiers = ${JSON.stringify(entries.map(([specifier]) => specifier))}
    const types = specifiers.map(async (each) => [each, typeof (await import(each)).default])
    console.log(JSON.stringify(await Promise.all(types)))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], root)
  t.strictSame(JSON.parse(stdout), entries)
})

t.test('error classes have types under the resolution of bundlers', async (t) => {
  const errors = packages
    .filter((name) => existsSync(join(root, 'packages', name, 'src/errors.ts')))
    .map((name) => join('packages', name, 'dist/errors.d.ts'))
  const found = run(
    bin('tsc'),
    [
      '--noEmit',
      '--ignoreConfig',
      '--strict',
      '--singleThreaded',
      '--target',
      'esnext',
      '--module',
      'esnext',
      '--moduleResolution',
      'bundler',
      '--skipLibCheck',
      'false',
      '--types',
      'node',
      ...errors
    ],
    root
  )
  t.equal(
    await found.then(
      () => '',
      (err: { stdout: string }) => err.stdout
    ),
    ''
  )
})
