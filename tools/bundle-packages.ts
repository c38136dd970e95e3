/**
 * Bundles packages, whose types `tsc -b` makes: `dist` gets one module for each entry, and what several entries share, so that an app
 * loads a few files of ours instead of hundreds. Packages are not bundled into each other.
 *
 * Usage: node tools/bundle-packages.ts [FOLDER…], by default the working directory.
 */
import { globSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { rolldown } from 'rolldown'

/** Programs that run in a process of their own, which may read no other file, by package. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  '@svc/runtime': ['./dist/sandbox/child/main.js']
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
  const entries = Object.values(exports).map((entry) => entry.default)
  entries.push(...Object.values(bin), ...Object.values(imports))
  const written = new Set<string>()
  for (const files of [entries, ...(PROGRAMS[name] ?? []).map((file) => [file])])
    for (const file of await bundle(folder, files)) written.add(file)
  for (const path of globSync('dist/**/*.js{,.map}', { cwd: folder, exclude: ['dist/page/**'] }))
    if (!written.has(resolve(folder, path))) rmSync(resolve(folder, path))
}

/** Bundles the sources of these files of `dist` together; returns the paths of what it has written. */
async function bundle(folder: string, files: readonly string[]): Promise<string[]> {
  const names = files.map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, '$1'))
  const bundled = await rolldown({
    cwd: resolve(folder),
    input: Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`])),
    // Other packages, and what the package imports by a name of its own.
    external: /^[^./]/,
    platform: 'node'
  })
  const { output } = await bundled.write({
    dir: 'dist',
    sourcemap: true,
    chunkFileNames: 'shared/[name].js'
  })
  await bundled.close()
  return output.map(({ fileName }) => resolve(folder, 'dist', fileName))
}
