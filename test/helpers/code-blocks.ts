import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const ROOT = resolve(import.meta.dirname, '../..')

/** A TypeScript block of a document. */
export interface CodeBlock {
  /** E.g. `docs/agents.md#2`, the second block of that document. */
  id: string
  document: string
  code: string
  /** The name of its file. */
  file: string
}

/** The code of one language in a document. */
function blocksOf(document: string, language: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code
  )
}

/** The lines of a document's shell blocks that call curl. */
export function curlsOf(document: string): string[] {
  return blocksOf(document, 'sh').flatMap((code) =>
    code.split('\n').filter((line) => line.startsWith('curl '))
  )
}

/** The packages that a document installs; empty if it has no install command. */
export function installsOf(document: string): string[] {
  return blocksOf(document, 'sh').flatMap((code) => /^npm install (.+)$/m.exec(code)?.[1]?.split(' ') ?? [])
}

/** The properties of an app and of requests that a document mentions, such as `app.runs`; no file names. */
export function membersOf(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8')
  const named = [...text.matchAll(/\b(fastify|app|request)\.(?!ts\b|js\b|db\b)([a-z]\w*)/g)]
  return [
    ...new Set(named.map(([, owner, name]) => `${owner === 'request' ? owner : 'app'}.${String(name)}`))
  ]
}

/** The names that code imports from packages, including `default`, without types. */
export function importsOf(code: string): { specifier: string; names: string[] }[] {
  const statements = code.matchAll(/^import (?!type )(?:(\w+)(?:, )?)?(?:\{([^}]*)\})? from '([^'.][^']*)'/gm)
  return [...statements].map(([, whole, parts = '', specifier = '']) => ({
    specifier,
    names: [
      ...(whole === undefined ? [] : ['default']),
      ...parts.split(',').flatMap((part) => /^(?!type )\w+/.exec(part.trim()) ?? [])
    ]
  }))
}

/** The TypeScript blocks of documents. */
export function codeBlocks(documents: readonly string[]): CodeBlock[] {
  return documents.flatMap((document) =>
    blocksOf(document, 'ts').map((code, index) => {
      const id = `${document}#${index + 1}`
      return { id, document, code, file: `${id.replaceAll(/[^\w]+/g, '-')}.ts` }
    })
  )
}

/** The compiler errors of each block, written to a folder. */
export async function compile(
  blocks: readonly CodeBlock[],
  folder: string
): Promise<Map<CodeBlock, string[]>> {
  for (const { file, code } of blocks) writeFileSync(join(folder, file), code)
  const config = {
    extends: join(ROOT, 'tsconfig.check.json'),
    // Examples may have unused names.
    compilerOptions: {
      noUnusedLocals: false,
      typeRoots: [join(ROOT, 'node_modules/@types')]
    },
    include: ['*.ts']
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  // The hooks that tap loads into every child break the compiler.
  const said = await promisify(execFile)(
    'env',
    ['-u', 'NODE_OPTIONS', tsc, '-p', folder, '--singleThreaded', '--pretty', 'false'],
    {
      cwd: folder,
      env: { PATH: process.env['PATH'] }
    }
  ).catch((err: Error & { stdout: string }) => {
    if (err.stdout.includes(': error TS')) return err
    throw err
  })
  const lines = said.stdout.split('\n')
  return new Map(
    blocks.map((block) => [block, lines.filter((line) => line.startsWith(`${block.file}(`))] as const)
  )
}

// Cannot find a name, a shorthand property, or a similar name.
const MISSING_NAME = /error TS(?:2304|2552|18004):/

/** True if a block is a complete program: it declares or imports all names it uses. */
export function isWhole({ code }: CodeBlock, errors: readonly string[]): boolean {
  return /^import /m.test(code) && !errors.some((line) => MISSING_NAME.test(line))
}
