import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as agUi from '@svc/ag-ui'
import { AgUiOptionsSchema, type AGUI_ERR_UNKNOWN_RUNNABLE } from '@svc/ag-ui'
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

t.test('the table of errors is the catalogue', async (t) => {
  const catalogue = Object.entries(agUi).filter(([name]) => name.startsWith('AGUI_ERR_'))
  t.strictSame(firstColumn('Errors'), catalogue.map(([code]) => code).toSorted())
  for (const [code, value] of catalogue) {
    const Fault = value as typeof AGUI_ERR_UNKNOWN_RUNNABLE
    t.match(readme, `| \`${code}\` | ${new Fault('x', 'y').statusCode} |`)
  }
})

t.test('the table of options is the schema', async (t) => {
  t.strictSame(firstColumn('Options'), Object.keys(AgUiOptionsSchema.properties).toSorted())
})
