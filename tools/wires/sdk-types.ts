import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const TSC = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(
  /package\.json$/,
  'lib/tsc.js'
)

/** A part of the shape of a value: lists have the shapes of their first three elements. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 3).map(shapeOf)
  if (typeof value !== 'object' || value === null)
    return typeof value === 'string' ? wordOf(value) : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shapeOf(each)]))
}

// Words of the protocol are part of a shape, texts are not.
function wordOf(value: string): string {
  return /^[a-z_.]{2,60}$/.test(value) ? value : 'string'
}

/**
 * Checks values against types of the SDK with the TypeScript compiler: fields that a type does not have are faults too. Of values of one
 * shape one is checked.
 * @param values by the types
 * @param imports the lines that import these types
 * @param file where they are written, within the package
 * @returns the faults
 */
export async function findTypeFaults(
  values: Readonly<Record<string, readonly unknown[]>>,
  imports: readonly string[],
  file: string
): Promise<string> {
  const checks = Object.entries(values).map(([type, all]) => {
    const byShape = new Map(all.map((value) => [JSON.stringify(shapeOf(value)), value]))
    const list = [...byShape.values()].map((value) => `  ${JSON.stringify(value)}`).join(',\n')
    return `export const of${type.replaceAll(/\W/g, '')}: ${type}[] = [\n${list}\n]\n`
  })
  const text = [...imports, ...checks].join('\n')
  await writeFile(file, text)
  const options = [
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2024',
    '--types',
    'node'
  ]
  try {
    await promisify(execFile)(process.execPath, [TSC, '--ignoreConfig', ...options, file], { maxBuffer: 1e8 })
    return ''
  } catch (err) {
    const { stdout, stderr } = err as { stdout: string; stderr: string }
    return (stdout + stderr).slice(0, 4_000)
  }
}
