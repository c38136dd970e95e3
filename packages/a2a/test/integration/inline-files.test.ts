import { createInProcessStores, type FileStore, type RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const small = Buffer.from([0, 255, 1, 254])
const MiB = 1_048_576

/** An agent that keeps files of these contents. */
function createMaker(contents: readonly Buffer[]): RunnableDefinition {
  return {
    kind: 'agent',
    name: 'maker',
    async *stream(_input, { runId, stores }) {
      yield { type: 'text', text: 'Here.' }
      for (const content of contents) {
        const { createdAt: _, ...file } = await stores.files!.put(runId, {
          mimeType: 'image/png',
          filename: 'a.png',
          content
        })
        yield { type: 'file', ...file }
      }
      yield { type: 'text', text: ' Done.' }
    }
  }
}

const maker = createMaker([small, Buffer.alloc(9, 'x')])
const raw = small.toString('base64')
const about = { mediaType: 'image/png', filename: 'a.png' }

t.test(
  'small files are sent by their bytes, larger ones by their URL, to the official clients',
  async (t) => {
    const { origin } = await buildApp(t, { runnables: [maker], options: { inlineFiles: 8 } })
    for (const client of await connectSdkClients(origin)) {
      const json = JSON.stringify(await client.send([{ text: 'x' }]))
      t.ok(json.includes(raw) || json.includes(JSON.stringify(small)), client.name)
      t.equal(json.match(/\/files\//g)?.length, 1, client.name)
    }
  }
)

t.test('streams, tasks and messages have the bytes, and lists the URLs', async (t) => {
  const app = await buildApp(t, { runnables: [maker], options: { inlineFiles: 8 } })
  const events = await app.stream('SendStreamingMessage', sayV1('x'))
  for (const { result } of events) t.same(faultsOf('1.0', 'StreamResponse', result), [])
  t.match(
    events.flatMap(({ result }) => result.artifactUpdate?.artifact.parts ?? []),
    [
      { text: 'Here.' },
      { raw, ...about, metadata: { size: 4 } },
      { url: /\/files\//, ...about },
      { text: ' Done.' },
      {}
    ],
    'in order'
  )
  const { id } = events[0]!.result.task
  const { result: task } = await app.rpc('GetTask', { id })
  t.match(task.artifacts, [{}, { parts: [{ raw, ...about }] }, { parts: [{ url: /\/files\// }] }])
  t.notOk('url' in task.artifacts[1].parts[0])
  const { result: list } = await app.rpc('ListTasks', { includeArtifacts: true })
  t.match(list.tasks[0].artifacts, [{}, { parts: [{ url: /\/files\// }] }, { parts: [{ url: /\/files\// }] }])
  const legacy = await app.rpc('message/send', say('x'))
  t.match(legacy.result.artifacts[1].parts, [{ kind: 'file', file: { bytes: raw, mimeType: 'image/png' } }])

  const alone = await buildApp(t, { runnables: [maker], options: { inlineFiles: 8, reply: 'message' } })
  const { message } = (await alone.rpc('SendMessage', sayV1('x'))).result
  t.match(message.parts, [{ text: 'Here. Done.' }, { raw, ...about }, { url: /\/files\//, ...about }])
})

t.test('a reply has bytes up to a limit in all', async (t) => {
  const many = createMaker(Array.from({ length: 9 }, () => Buffer.alloc(MiB)))
  const { rpc } = await buildApp(t, { runnables: [many], options: { inlineFiles: MiB } })
  const { task } = (await rpc('SendMessage', sayV1('x'))).result
  const kinds = (task.artifacts as { parts: object[] }[])
    .slice(1)
    .map(({ parts }) => Object.keys(parts[0]!)[0])
  t.same(kinds, [...Array.from({ length: 8 }, () => 'raw'), 'url'])
})

t.test('a file that cannot be read is sent by its URL', async (t) => {
  const stores = createInProcessStores()
  const files: FileStore = {
    put: (...given) => stores.files!.put(...given),
    remove: (...given) => stores.files!.remove(...given),
    get() {
      throw new Error('secret of the store')
    }
  }
  const { rpc, stream } = await buildApp(t, {
    runnables: [maker],
    options: { inlineFiles: 8 },
    engine: { stores: { ...stores, files } }
  })
  const reply = await rpc('SendMessage', sayV1('x'))
  t.match(reply.result.task.artifacts, [{}, { parts: [{ url: /\/files\// }] }, {}])
  const events = await stream('SendStreamingMessage', sayV1('x'))
  t.match(events.at(-1), { result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  t.notMatch(JSON.stringify([reply, events]), /secret/)
})

t.test('files that the client does not accept are left out, also of the bytes', async (t) => {
  const app = await buildApp(t, { runnables: [maker], options: { inlineFiles: 8 } })
  const params = { ...sayV1('x'), configuration: { acceptedOutputModes: ['text/plain'] } }
  t.notMatch(JSON.stringify(await app.rpc('SendMessage', params)), /raw|image/)
  t.notMatch(JSON.stringify(await app.stream('SendStreamingMessage', params)), /raw|image/)
})
