import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as uiStream from '@svc/ui-stream'
import { UiStreamOptionsSchema, type UI_ERR_UNKNOWN_RUNNABLE } from '@svc/ui-stream'
import t from 'tap'
import { ChatMetadataSchema } from '../src/wire/chunks.ts'

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
  const catalogue = Object.entries(uiStream).filter(([name]) => name.startsWith('UI_ERR_'))
  t.strictSame(firstColumn('Errors'), catalogue.map(([code]) => code).toSorted())
  for (const [code, value] of catalogue) {
    const Fault = value as typeof UI_ERR_UNKNOWN_RUNNABLE
    t.match(readme, `| \`${code}\` | ${new Fault('x', 'y').statusCode} |`)
  }
})

t.test('the table of options is the schema', async (t) => {
  t.strictSame(firstColumn('Options'), Object.keys(UiStreamOptionsSchema.properties).toSorted())
})

t.test('all metadata of messages is documented', async (t) => {
  for (const name of Object.keys(ChatMetadataSchema.properties)) t.match(readme, `\`${name}\``, name)
})
