import { remoteAgent } from '@svc/a2a'
import { createRunEngine, type RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildApp, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const content = Buffer.from('a,b\n1,2\n')

/** An agent that keeps a file, refers to one elsewhere, and mentions one that is not kept. */
const maker: RunnableDefinition = {
  kind: 'agent',
  name: 'maker',
  async *stream(_input, { runId, stores }) {
    const file = { mimeType: 'text/csv', filename: 'table.csv', content }
    const { createdAt: _, ...kept } = await stores.files!.put(runId, file)
    yield { type: 'text', text: 'Here.' }
    yield { type: 'file', ...kept, purpose: 'download', toolCallId: 'c1' }
    yield { type: 'file', url: 'https://files.example/b.png', mimeType: 'image/png' }
    yield { type: 'file', mimeType: 'image/png', size: 3, sha256: 'ff' }
  }
}

/** The strings in a value that are URLs of a service's files. */
const fileUrlsIn = (value: unknown) => JSON.stringify(value).match(/https?:[^"]*\/files\/[^"]*/g) ?? []

t.test('the official clients find a file by its URL', async (t) => {
  const { origin } = await buildApp(t, { runnables: [maker] })
  for (const client of await connectSdkClients(origin)) {
    const [url, ...others] = fileUrlsIn(await client.send([{ text: 'x' }]))
    t.same(others, [], client.name)
    t.equal(await (await fetch(url!)).text(), content.toString(), client.name)
  }
})

t.test('artifacts of a task, as they are streamed and when it is read', async (t) => {
  const app = await buildApp(t, { runnables: [maker] })
  const events = await app.stream('message/stream', say('x'))
  const task = events[0]!.result as { id: string }
  const { artifacts } = (await app.rpc('tasks/get', { id: task.id })).result
  const [url] = fileUrlsIn(artifacts)
  const fileId = url!.split('/').at(-1)
  t.equal(url, `${app.url}/tasks/${task.id}/files/${fileId}`)
  const file = { uri: url, name: 'table.csv', mimeType: 'text/csv' }
  t.match(artifacts, [
    { artifactId: 'answer' },
    {
      artifactId: `file-${fileId}`,
      name: 'table.csv',
      parts: [{ kind: 'file', file, metadata: { size: 8 } }]
    },
    { parts: [{ kind: 'file', file: { uri: 'https://files.example/b.png', mimeType: 'image/png' } }] }
  ])
  t.equal(artifacts.length, 3, 'a file that is not kept has no URL')
  const streamed = events.filter(({ result }) => result.artifact?.artifactId.startsWith('file-'))
  t.same(
    streamed.map(({ result }) => result.artifact),
    artifacts.slice(1)
  )
  t.match(streamed, [{ result: { append: false, lastChunk: true } }])

  const current = await app.stream('SendStreamingMessage', sayV1('x'), { 'a2a-version': '1.0' })
  for (const { result } of current) t.same(faultsOf('1.0', 'StreamResponse', result), [])
  t.match(
    current.flatMap(({ result }) => result.artifactUpdate?.artifact.parts ?? []),
    [
      { text: 'Here.' },
      { url: /\/files\//, mediaType: 'text/csv', filename: 'table.csv', metadata: { purpose: 'download' } },
      { url: 'https://files.example/b.png', mediaType: 'image/png' },
      { text: '' }
    ]
  )
  const { result: listed } = await app.rpc('ListTasks', { includeArtifacts: true }, { 'a2a-version': '1.0' })
  t.equal(fileUrlsIn(listed).length, 2)
})

t.test('the audio of an answer is a file, too', async (t) => {
  const speaker: RunnableDefinition = {
    kind: 'agent',
    name: 'speaker',
    async *stream(_input, { runId, stores }) {
      const { fileId, size, sha256 } = await stores.files!.put(runId, { mimeType: 'audio/wav', content })
      const audio = { itemId: 'i', mimeType: 'audio/wav', durationMs: 1, fileId, size, sha256: sha256! }
      yield { type: 'text', text: 'Here.' }
      yield { type: 'voice.audio', role: 'assistant', ...audio }
    }
  }
  const app = await buildApp(t, { runnables: [speaker] })
  for (const client of await connectSdkClients(app.origin)) {
    const [url] = fileUrlsIn(await client.send([{ text: 'x' }]))
    const reply = await fetch(url!)
    t.equal(await reply.text(), content.toString(), client.name)
    t.equal(reply.headers.get('content-type'), 'audio/wav')
  }
  const events = await app.stream('message/stream', say('x'))
  t.match(
    events.filter(({ result }) => result.artifact?.artifactId.startsWith('file-')),
    [
      {
        result: {
          artifact: { parts: [{ file: { mimeType: 'audio/wav' }, metadata: { purpose: 'speech' } }] }
        }
      }
    ]
  )
})

t.test('a file is served like one over HTTP, to the owner of the task only', async (t) => {
  const app = await buildApp(t, {
    runnables: [maker],
    options: { authenticate: ({ token }) => (token === undefined ? null : { sub: token, scopes: [] }) }
  })
  const ann = { authorization: 'Bearer ann' }
  const { result } = await app.rpc('message/send', say('x'), ann)
  const [url = ''] = fileUrlsIn(result)
  const ask = (path: string, headers = {}, method = 'GET') => fetch(path, { headers, method })
  const whole = await ask(url, ann)
  t.equal(await whole.text(), content.toString())
  t.match(Object.fromEntries(whole.headers), {
    'content-type': 'text/csv',
    'content-disposition': 'attachment; filename=table.csv',
    'content-security-policy': /^sandbox/,
    'x-content-type-options': 'nosniff'
  })
  const range = await ask(url, { ...ann, range: 'bytes=4-' })
  t.match(range, { status: 206 })
  t.equal(await range.text(), '1,2\n')
  t.equal((await ask(url, { ...ann, 'if-none-match': whole.headers.get('etag') })).status, 304)
  const head = await ask(url, ann, 'HEAD')
  t.equal(head.headers.get('content-length'), '8')
  const beyond = await ask(url, { ...ann, range: 'bytes=8-' })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('content-range'), 'bytes */8')
  t.match(await beyond.json(), { message: /outside/ })

  t.equal((await ask(url)).status, 401)
  const foreign = await ask(url, { authorization: 'Bearer bob' })
  const unknown = await ask(url.replace(result.id, 'none'), { authorization: 'Bearer bob' })
  t.equal(foreign.status, 404)
  t.equal(await foreign.text(), await unknown.text())
  t.match(await (await ask(`${url}x`, ann)).json(), { message: /no file/ })
  t.equal((await ask(`${url}x`, ann)).status, 404)
})

t.test('URLs begin with the public URL of the service, where it has one', async (t) => {
  const urlOf = async (options: Parameters<typeof buildApp>[1]) => {
    const app = await buildApp(t, { runnables: [maker], ...options })
    const { result } = await app.rpc('message/send', say('x'))
    return [fileUrlsIn(result)[0]!, app] as const
  }
  const [proxied] = await urlOf({ options: { url: 'https://agents.example/a2a/' } })
  t.match(proxied, /^https:\/\/agents\.example\/a2a\/tasks\/[^/]+\/files\//)
  const [atRoot, { origin }] = await urlOf({ options: { basePath: '/' } })
  t.ok(atRoot.startsWith(`${origin}/tasks/`), atRoot)
  t.equal((await fetch(atRoot)).status, 200)
})

t.test('a request of a tenant gets URLs that work', async (t) => {
  const app = await buildApp(t, { runnables: [maker] })
  const { result } = await app.rpc(
    'SendMessage',
    { ...sayV1('x'), tenant: 'maker' },
    { 'a2a-version': '1.0' }
  )
  t.equal((await fetch(fileUrlsIn(result)[0]!)).status, 200)
})

t.test('push notifications have URLs at the address of the request that asked for them', async (t) => {
  const options = { pushNotifications: { allowPrivate: true } }
  const app = await buildApp(t, { runnables: [maker], options })
  const receiver = await createReceiver(t)
  const push = { url: receiver.url }
  const configuration = { returnImmediately: true, taskPushNotificationConfig: push }
  await app.rpc('SendMessage', { ...sayV1('x'), configuration }, { 'a2a-version': '1.0' })
  const [event] = fileUrlsIn((await receiver.until(5)).map(({ body }) => body))
  await requireFile(app, event)

  const old = await createReceiver(t)
  const pushNotificationConfig = { url: old.url }
  await app.rpc('message/send', { ...say('x'), configuration: { pushNotificationConfig } })
  const [task] = fileUrlsIn((await old.until(2)).map(({ body }) => body))
  await requireFile(app, task)

  async function requireFile({ origin }: TestApp, url = '') {
    t.ok(url.startsWith(origin), url)
    t.equal((await fetch(url)).status, 200)
  }
})

for (const version of ['0.3', '1.0'] as const)
  t.test(`a remote agent of ${version} yields files by their URL, once`, async (t) => {
    const app = await buildApp(t, { runnables: [maker], options: { versions: [version] } })
    const engine = createRunEngine()
    t.teardown(() => engine.close())
    const run = await engine.start(remoteAgent({ url: app.url, version }), 'x')
    const { text, files } = await run.result()
    t.equal(text, 'Here.')
    const kept = { mimeType: 'text/csv', filename: 'table.csv', size: 8, purpose: 'download' }
    t.match(files, [kept, { url: 'https://files.example/b.png', mimeType: 'image/png' }])
    t.equal(files?.length, 2)
    t.match(files![0]!.sha256, /^[\da-f]{64}$/)
    t.equal(await (await fetch(files![0]!.url!)).text(), content.toString())
  })
