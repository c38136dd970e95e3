/**
 * Bundles packages, whose types `tsc -b` makes: `dist` gets one module for each entry, and what several entries share, so that an app
 * loads a few files of ours instead of hundreds. Packages are not bundled into each other.
 *
 * Usage: node tools/bundle-packages.ts [FOLDER…], by default the working directory.
 */
import { copyFileSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { basename, resolve } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'

/** Files that are bundled together, without sharing any with others. */
interface Part {
  readonly files: readonly string[]
  /** A library of hundreds of small files, bundled with them: an app loads one or two instead. */
  readonly library?: string
}

/** What is bundled by itself, by package. */
const PARTS: Readonly<Record<string, readonly Part[]>> = {
  // A program that runs in a process of its own, which may read no other file.
  '@svc/runtime': [{ files: ['./dist/sandbox/child/main.js'] }],
  // All packages import it in the place of TypeBox.
  '@svc/contract': [{ files: ['./dist/typebox.js'], library: '@sinclair/typebox' }]
}
/** Libraries of which no other package imports anything. */
const LIBRARIES: Readonly<Record<string, string>> = { '@svc/store': 'kysely' }

/**
 * Node's `http` without what only an import of it as an ES module reads: its WebSocket, and with that all of undici, which takes 10 ms
 * and 3 MB.
 */
const plainHttp: Plugin = {
  name: 'plain-http',
  resolveId: { order: 'pre', handler: (id) => (id === 'node:http' ? '\0http' : undefined) },
  load(id) {
    if (id !== '\0http') return undefined
    const fields = Object.entries(Object.getOwnPropertyDescriptors(http))
    const names = fields.filter(([, { get }]) => get === undefined).map(([name]) => name)
    return `const http = process.getBuiltinModule('node:http')
      export default http
      export const { ${names.join(', ')} } = http`
  }
}

interface Manifest {
  readonly name: string
  readonly publishConfig: {
    readonly bin?: Readonly<Record<string, string>>
    readonly imports?: Readonly<Record<string, string>>
    readonly exports: Readonly<Record<string, { readonly default: string }>>
  }
}

const [...folders] = process.argv.slice(2)
for (const folder of folders.length === 0 ? ['.'] : folders) await bundlePackage(folder)

async function bundlePackage(folder: string): Promise<void> {
  const { name, publishConfig } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Manifest
  const { bin = {}, imports = {}, exports } = publishConfig
  const own = PARTS[name] ?? []
  const entries = Object.values(exports).map((entry) => entry.default)
  entries.push(...Object.values(bin), ...Object.values(imports))
  const rest = entries.filter((file) => own.every(({ files }) => !files.includes(file)))
  const library = LIBRARIES[name]
  const written = new Set<string>()
  for (const part of [{ files: rest, ...(library !== undefined && { library }) }, ...own])
    for (const file of await bundle(folder, part)) written.add(file)
  for (const path of globSync('dist/**/*.js{,.map}', { cwd: folder, exclude: ['dist/page/**'] }))
    if (!written.has(resolve(folder, path))) rmSync(resolve(folder, path))
}

/** Bundles the sources of a part; returns the paths of what it has written. */
async function bundle(folder: string, { files, library }: Part): Promise<string[]> {
  const names = files.map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'))
  const bundled = await rolldown({
    cwd: resolve(folder),
    input: Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`])),
    // Other packages, and what the package imports by a name of its own.
    external: (id) => /^[^./]/.test(id) && id !== 'node:http' && !isOf(library, id),
    platform: 'node',
    plugins: [plainHttp]
  })
  const { output } = await bundled.write({
    dir: 'dist',
    sourcemap: true,
    comments: { jsdoc: false },
    paths: (id) => (isOf('@sinclair/typebox', id) ? '@svc/contract/typebox' : id),
    chunkFileNames: 'shared/[name].js'
  })
  await bundled.close()
  for (const each of output)
    if (each.type === 'chunk') writeFileSync(resolve(folder, 'dist', each.fileName), inLatin1(each.code))
  if (library !== undefined) copyLicense(folder, library)
  return output.map(({ fileName }) => resolve(folder, 'dist', fileName))
}

function isOf(library: string | undefined, id: string): boolean {
  return id === library || id.startsWith(`${library}/`)
}

function copyLicense(folder: string, library: string): void {
  const [license = ''] = globSync(`node_modules/${library}/{LICENSE,license}`, { cwd: folder })
  copyFileSync(resolve(folder, license), resolve(folder, `dist/${basename(library)}.license`))
}

/** V8 keeps a source with one character beyond Latin-1 in twice the memory. They are in texts and patterns only. */
function inLatin1(code: string): string {
  return code.replaceAll(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
