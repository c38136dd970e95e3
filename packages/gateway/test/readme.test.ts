import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as gateway from '@svc/gateway'
import {
  CLIENT_EVENTS,
  GatewayOptionsSchema,
  RUN_EVENTS,
  VOICE_EVENTS,
  type GTW_ERR_UNKNOWN_RUNNABLE
} from '@svc/gateway'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { Inbox, type Client } from './helpers/build-gateway.ts'

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')

/** The first column of the tables under a heading. */
function firstColumn(heading: string): string[] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  )
}

t.test('the example runs', async (t) => {
  const [, code = ''] = /```ts\n([^]*?)```/.exec(readme) ?? []
  const program = `${code.replace('port: 3000', 'port: 0').replaceAll('console.log', 'void ')}\nexport { app, socket, answer }\n`
  // Everything that it imports is what the demo has.
  const modules = t.fixture('symlink', resolve(import.meta.dirname, '../../../apps/demo/node_modules'))
  const file = resolve(t.testdir({ 'example.ts': program, node_modules: modules }), 'example.ts')
  const { app, socket, answer } = (await import(pathToFileURL(file).href)) as {
    app: FastifyInstance
    socket: Client
    answer: { runId: string }
  }
  t.teardown(() => app.close())
  t.teardown(() => socket.disconnect())
  const inbox = new Inbox(socket)
  await socket.emitWithAck('run.watch', answer)
  t.match(await inbox.untilEnd(answer.runId), [{ chunk: 'You said: Hello' }, { event: 'agent.done' }])
})

t.test('the tables of events are the schemas', async (t) => {
  const isOfCall = (event: string) => event.startsWith('voice.')
  const clientEvents = Object.keys(CLIENT_EVENTS)
  const runEvents = [
    ...Object.keys(RUN_EVENTS).map((each) => `agent.${each}`),
    'run.suspended',
    'session.suspended'
  ]
  const events = [...clientEvents.filter((event) => !isOfCall(event)), ...runEvents, 'gateway.error']
  t.strictSame(firstColumn('Events').toSorted(), events.toSorted())
  const sent = [...Object.keys(VOICE_EVENTS), 'error', 'done'].map((each) => `voice.${each}`)
  t.strictSame(firstColumn('Calls').toSorted(), [...clientEvents.filter(isOfCall), ...sent].toSorted())
})

t.test('the table of codes is the catalogue, with their status', async (t) => {
  const catalogue = Object.entries(gateway).filter(([name]) => name.startsWith('GTW_ERR_'))
  t.strictSame(firstColumn('Errors'), catalogue.map(([code]) => code).toSorted())
  for (const [code, value] of catalogue) {
    const Fault = value as typeof GTW_ERR_UNKNOWN_RUNNABLE
    t.match(readme, `| \`${code}\` | ${new Fault('x', 'y').statusCode} |`)
  }
})

t.test('the table of options is the schema', async (t) => {
  const known = Object.entries(GatewayOptionsSchema.properties).flatMap(([name, schema]) => {
    const { properties } = schema as { properties?: object }
    return properties && Object.keys(properties).length > 0
      ? Object.keys(properties).map((key) => `${name}.${key}`)
      : [name]
  })
  t.strictSame(firstColumn('Options').toSorted(), known.toSorted())
})
