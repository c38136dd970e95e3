import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CLIENT_EVENTS, GatewayOptionsSchema, RUN_EVENTS, VOICE_EVENTS } from '@svc/gateway'
import type { FastifyInstance } from 'fastify'
import { optionNames, readReadme } from '@tools/wires/readme-tables'
import t from 'tap'
import { Inbox, type Client } from './helpers/build-gateway.ts'

const readme = readReadme(import.meta.dirname)

t.test('the example runs', async (t) => {
  const [, code = ''] = /```ts\n([^]*?)```/.exec(readme.text) ?? []
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
  // What the example was sent has then arrived.
  for await (const _ of app.runs.parts(answer.runId));
  await socket.emitWithAck('session.list', {})
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
  t.strictSame(readme.firstColumn('Events'), events.toSorted())
  const sent = [...Object.keys(VOICE_EVENTS), 'error', 'done'].map((each) => `voice.${each}`)
  t.strictSame(readme.firstColumn('Calls'), [...clientEvents.filter(isOfCall), ...sent].toSorted())
})

t.test('the table of options is the schema', async (t) => {
  t.strictSame(readme.firstColumn('Options'), optionNames(GatewayOptionsSchema.properties))
})
