import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData, type Package } from '@arethetypeswrong/core'
import { publint } from 'publint'
import t from 'tap'

const root = resolve(import.meta.dirname, '..')
const bin = (name: string) => join(root, 'node_modules/.bin', name)
const execute = promisify(execFile)

/** Runs a program without the hooks that tap puts in the options of every Node below it: tsc 7 does not start with them. */
const run = (program: string, args: string[], cwd: string) =>
  execute('env', ['-u', 'NODE_OPTIONS', program, ...args], { cwd })

t.setTimeout(180_000)

/** What the profile esm-only of attw leaves out: tools that cannot load ES modules. */
const withoutEsm = new Set(['node10', 'node16-cjs'])

interface Manifest {
  name: string
  exports: Record<string, object>
}

function readManifest(pkg: Package): Manifest {
  return JSON.parse(pkg.readFile(`/node_modules/${pkg.packageName}/package.json`)) as Manifest
}

interface Dependencies {
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

/** Puts what a package needs beside it, as npm does: copies of what its child reads, links to the rest. No optional peers. */
function placeDependencies(from: string, to: string): void {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(from, 'package.json'), 'utf8')
  ) as Dependencies
  const all = Object.keys({ ...dependencies, ...peerDependencies })
    .filter((name) => peerDependenciesMeta?.[name]?.optional !== true)
    .map((name) => [name, join(from, 'node_modules', name)])
  if (dependencies?.['quickjs-emscripten-core'] !== undefined) {
    const core = dirname(realpathSync(join(from, 'node_modules/quickjs-emscripten-core')))
    all.push(['@jitl/quickjs-ffi-types', join(core, '@jitl/quickjs-ffi-types')])
  }
  for (const [name = '', path = ''] of all) {
    mkdirSync(dirname(join(to, name)), { recursive: true })
    if (name.includes('quickjs')) cpSync(realpathSync(path), join(to, name), { recursive: true })
    else symlinkSync(realpathSync(path), join(to, name))
  }
}

/** Installs a tarball in a folder, without the optional peers of its package. */
async function install(tarballPath: string, name: string, app: string): Promise<void> {
  const installed = join(app, 'node_modules/@svc', name)
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', tarballPath, '--strip-components=1', '-C', installed], app)
  placeDependencies(join(root, 'packages', name), join(app, 'node_modules'))
}

const isPublic = (name: string) =>
  !/"private": true/.test(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))

for (const name of readdirSync(join(root, 'packages')).filter(isPublic)) {
  const folder = join(root, 'packages', name)

  t.test(`@svc/${name} as it would be published`, async (t) => {
    await run(bin('tsc'), ['-b'], folder)
    const tarballPath = join(t.testdir(), `${name}.tgz`)
    await run(bin('pnpm'), ['pack', '--out', tarballPath], folder)
    const tarball = Uint8Array.from(readFileSync(tarballPath))

    await t.test('publint finds nothing', async (t) => {
      const { messages } = await publint({
        pack: { tarball: tarball.slice().buffer },
        strict: true
      })
      t.strictSame(messages, [])
    })

    const pkg = createPackageFromTarballData(tarball)
    const manifest = readManifest(pkg)

    await t.test('its types are right for every entry', async (t) => {
      const analysis = await checkPackage(pkg)
      if (!analysis.types) throw new Error('no types in the tarball')
      t.strictSame(
        analysis.problems.filter(
          (found) => !('resolutionKind' in found && withoutEsm.has(found.resolutionKind))
        ),
        []
      )
    })

    await t.test('its error classes are typed where a bundler resolves', async (t) => {
      const found = run(
        bin('tsc'),
        [
          '--noEmit',
          '--ignoreConfig',
          '--strict',
          ...['--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler'],
          ...['--skipLibCheck', 'false', '--types', 'node', 'dist/errors.d.ts']
        ],
        folder
      )
      t.equal(
        await found.then(
          () => '',
          (err: { stdout: string }) => err.stdout
        ),
        ''
      )
    })

    await t.test('its types need no optional peer, whatever libraries are checked', async (t) => {
      const imports = Object.keys(manifest.exports).map((entry) => `import '${join(manifest.name, entry)}'`)
      const app = t.testdir({ 'app.ts': imports.join('\n'), 'package.json': '{ "type": "module" }' })
      await install(tarballPath, name, app)
      const found = await run(
        bin('tsc'),
        [
          ...['--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck', 'false'],
          ...['--target', 'esnext', '--module', 'nodenext', '--types', 'node', 'app.ts']
        ],
        app
      ).catch((err: unknown) => err as { stdout: string })
      // What is wrong with the types of others is theirs.
      t.strictSame(
        found.stdout.split('\n').filter((line) => /^(?:app\.ts|node_modules\/@svc\/)/.test(line)),
        []
      )
    })

    await t.test('it holds what a user needs, and nothing of the workspace', async (t) => {
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

    await t.test('every entry loads from what was built', async (t) => {
      for (const entry of Object.keys(manifest.exports)) {
        const specifier = join(manifest.name, entry)
        const code = `console.log(typeof (await import(${JSON.stringify(specifier)})).default)`
        const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], folder)
        t.equal(stdout.trim(), entry === '.' ? 'function' : 'undefined', specifier)
      }
    })

    if (name === 'runtime')
      await t.test('its sandbox finds its child where only the tarball is installed', async (t) => {
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
