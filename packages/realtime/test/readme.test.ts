import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import * as realtime from '@svc/realtime'
import {
  CLIENT_EVENTS,
  PROTOCOL_CODES,
  RealtimeOptionsSchema,
  SERVER_EVENTS,
  type RT_ERR_UNKNOWN_RUNNABLE
} from '@svc/realtime'
import t from 'tap'
import { CLOSE } from '../src/sockets/close-codes.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

/** The names in the first column of the tables under a heading that match a pattern. */
function firstColumn(heading: string, pattern: RegExp): string[] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .filter((name) => pattern.test(name))
    .toSorted()
}

t.test('the tables of events are the schemas', async (t) => {
  const events = [...Object.keys(CLIENT_EVENTS), ...Object.keys(SERVER_EVENTS)]
  t.strictSame(firstColumn('Events', /./), events.toSorted())
})

t.test('the tables of codes are the catalogues', async (t) => {
  t.strictSame(firstColumn('Errors', /^[a-z_]+$/), Object.keys(PROTOCOL_CODES).toSorted())
  const catalogue = Object.entries(realtime).filter(([name]) => name.startsWith('RT_ERR_'))
  t.strictSame(firstColumn('Errors', /^RT_/), catalogue.map(([code]) => code).toSorted())
  for (const [code, value] of catalogue) {
    const Fault = value as typeof RT_ERR_UNKNOWN_RUNNABLE
    t.match(readme, `| \`${code}\` | ${new Fault('x', 'y').statusCode} |`)
  }
  for (const code of Object.values(CLOSE)) t.match(readme, new RegExp(`^\\| (\\d+, )?${code}\\b`, 'm'))
})

t.test('the table of options is the schema', async (t) => {
  const known = Object.entries(RealtimeOptionsSchema.properties).flatMap(([name, schema]) => {
    const { properties } = schema as { properties?: object }
    return properties && Object.keys(properties).length > 0
      ? Object.keys(properties).map((key) => `${name}.${key}`)
      : [name]
  })
  t.strictSame(firstColumn('Options', /./), known.toSorted())
})
