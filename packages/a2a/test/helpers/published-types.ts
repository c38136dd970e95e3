import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'

const PACKAGE = resolve(import.meta.dirname, '../..')
const TSC = resolve(PACKAGE, '../../node_modules/.bin/tsc')

/** Values by the name of the type that they are to be of. */
export type Typed = Record<string, unknown[]>

// Literals may have nothing that a type does not know, but for where a schema is read as it is: open.
const PROGRAM = `
type Open<T> = T extends readonly (infer E)[]
  ? Open<E>[]
  : T extends object ? { [K in keyof T]: Open<T[K]> } & { [more: string]: unknown } : T
const is = <T>(value: T): T => value
const values: unknown[] = []
`

/**
 * What the compiler says of values as literals of types that an official SDK has generated from the published JSON schema:
 * they say all that it says, and more. With `open`, objects may have what the schema does not name.
 */
export async function faultsOfTypes(
  t: Test,
  sdk: 'a2a-sdk-v0.2' | 'a2a-sdk-v0.3',
  typed: Typed,
  { open = false } = {}
): Promise<string[]> {
  const lines = Object.entries(typed).flatMap(([name, all]) => {
    const type = open ? `Open<sdk.${name}>` : `sdk.${name}`
    return all.map((value) => `values.push(is<${type}>(${JSON.stringify(value)}))`)
  })
  const folder = t.testdir({
    'values.ts': [`import type * as sdk from '${sdk}'`, PROGRAM, ...lines].join('\n'),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'esnext',
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        skipLibCheck: true,
        types: []
      },
      include: ['values.ts']
    }),
    'package.json': '{"type":"module"}',
    node_modules: t.fixture('symlink', resolve(PACKAGE, 'node_modules'))
  })
  // What tap loads into every child does not get along with the compiler.
  const run = promisify(execFile)('env', ['-u', 'NODE_OPTIONS', TSC, '-p', folder, '--pretty', 'false'], {
    cwd: folder
  })
  const failed = await run.then(
    () => undefined,
    (err: Error & { stdout: string }) => err
  )
  if (failed === undefined) return []
  const faults = failed.stdout.split('\n').filter((line) => line.includes('error TS'))
  if (faults.length === 0) throw failed
  return faults
}
