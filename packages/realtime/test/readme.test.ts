import { CLIENT_EVENTS, PROTOCOL_CODES, RealtimeOptionsSchema, SERVER_EVENTS } from '@svc/realtime'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import t from 'tap'
import { CLOSE } from '@svc/surface/sockets'
import { CLOSE_REPLACED } from '../src/sockets/connection.ts'

const readme = readReadme(import.meta.dirname)

t.test('the tables of events are the schemas', async (t) => {
  const events = [...Object.keys(CLIENT_EVENTS), ...Object.keys(SERVER_EVENTS)]
  t.strictSame(readme.firstColumn('Events'), events.toSorted())
})

t.test('the tables of codes are the catalogues', async (t) => {
  t.strictSame(
    readme.firstColumn('Errors').filter((name) => /^[a-z_]+$/.test(name)),
    Object.keys(PROTOCOL_CODES).toSorted()
  )
  for (const code of [...Object.values(CLOSE), CLOSE_REPLACED])
    t.match(readme.text, new RegExp(`^\\| (\\d+, )?${code}\\b`, 'm'))
})

t.test('the table of options is the schema', async (t) => {
  t.strictSame(readme.firstColumn('Options'), optionNames(RealtimeOptionsSchema.properties))
})
