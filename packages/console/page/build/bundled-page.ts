import { readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { build, type BuildOptions, type Metafile } from 'esbuild'
import { compressFile, type PageFile } from '../../src/serve-page.ts'
import { onlyLexer } from './only-lexer.ts'

const PAGE = resolve(import.meta.dirname, '..')

const OPTIONS = {
  absWorkingDir: PAGE,
  outdir: 'out',
  entryNames: 'assets/[name]-[hash]',
  chunkNames: 'assets/[name]-[hash]',
  loader: { '.svg': 'copy' },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  charset: 'utf8',
  legalComments: 'none',
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  logLevel: 'silent',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  conditions: ['@svc/source'],
  plugins: [onlyLexer]
} as const satisfies BuildOptions

let bundled: Promise<PageFile[]> | undefined

/** Bundles the page in memory, once per process, and compresses it quickly. */
export function loadPage(): Promise<PageFile[]> {
  return (bundled ??= bundlePage(5))
}

/** Bundles and compresses the page. @param quality of Brotli, 0 to 11 */
export async function bundlePage(quality: number): Promise<PageFile[]> {
  // Worklets are loaded by their address, which the scripts must know.
  const worklet = await build({ ...OPTIONS, entryPoints: { audio: 'voice/audio-worklet.ts' } })
  const audio = basename(worklet.outputFiles[0]!.path)
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    entryPoints: { console: 'main.tsx', icon: 'icon.svg' },
    splitting: true,
    define: { AUDIO_WORKLET: JSON.stringify(`./${audio}`) }
  })
  const built = [...worklet.outputFiles, ...outputFiles].map(({ path, contents }) => ({
    path: path.slice(join(PAGE, 'out').length + 1).replaceAll('\\', '/'),
    body: Buffer.from(contents)
  }))
  const html = await readFile(join(PAGE, 'index.html'), 'utf8')
  const document = html.replaceAll(/(?<=(?:href|src)=")([\w.]+)(?=")/g, (name) => {
    const [stem, ending] = name.split('.')
    return built.find(({ path }) => path.startsWith(`assets/${stem}-`) && path.endsWith(`.${ending}`))!.path
  })
  const files = [
    ...built,
    { path: 'index.html', body: Buffer.from(document) },
    { path: 'licenses.txt', body: Buffer.from(await licensesOf(metafile)) }
  ]
  return Promise.all(files.map(({ path, body }) => compressFile(path, body, quality)))
}

/** The licenses of the packages whose code is in the bundle; they ask to go with it. */
async function licensesOf({ inputs }: Metafile): Promise<string> {
  const folders = new Set<string>()
  for (const path of Object.keys(inputs)) {
    const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []
    if (folder !== undefined) folders.add(resolve(PAGE, folder))
  }
  const texts = [...folders].toSorted().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      name: string
      version: string
    }
    const license = await readLicense(folder)
    return `${name} ${version}\n\n${license.trim()}\n`
  })
  return (await Promise.all(texts)).join(`\n${'-'.repeat(72)}\n\n`)
}

async function readLicense(folder: string): Promise<string> {
  for (const name of ['LICENSE', 'LICENSE.md', 'LICENSE.txt']) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined)
    if (text !== undefined) return text
  }
  throw new Error(`${dirname(folder)}: a bundled package without a license`)
}
