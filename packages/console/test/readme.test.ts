import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConsoleOptionsSchema } from '@svc/console'
import t from 'tap'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

/** The names in the first column of the tables under a heading. */
function firstColumn(heading: string): string[] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .toSorted()
}

t.test('the table of options is the schema', async (t) => {
  const { surfaces, ...others } = ConsoleOptionsSchema.properties
  const nested = Object.keys(surfaces!['properties'] as object).map((name) => `surfaces.${name}`)
  t.strictSame(firstColumn('Options'), [...Object.keys(others), ...nested].toSorted())
})
