import { Type } from '@sinclair/typebox'
import type { Envelope, RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import { ANSWER_ID } from '../../src/tasks/artifacts.ts'
import type { MessagePart } from '../../src/model/message.ts'
import { OPERATIONS } from '../../src/operations.ts'
import { PROTOCOL_VERSIONS } from '../../src/wire/versions.ts'
import { askByRest, askByRpc } from '../helpers/ask.ts'
import { buildApp, echo, say, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const png = { raw: 'aGk=', mediaType: 'image/png', filename: 'a.png' }
const looker: RunnableDefinition = {
  ...echo,
  name: 'looker',
  card: { inputModes: ['text/plain', 'image/*'], outputModes: ['text/plain', 'image/png'] }
}

/** An agent that answers with a text, data, or both, and makes two files. */
const maker: RunnableDefinition = {
  kind: 'agent',
  name: 'maker',
  card: { outputModes: ['*/*'] },
  async *stream(input, { runId, stores }) {
    const wants = (what: string) => String(input).includes(what)
    if (wants('text')) {
      yield { type: 'text', text: 'Here ' }
      yield { type: 'text', text: 'it is.' }
    }
    if (wants('json')) yield { type: 'text', text: '{"a":1}' }
    if (wants('files'))
      for (const mimeType of ['image/png', 'text/csv']) {
        const { createdAt: _, ...file } = await stores.files!.put(runId, {
          mimeType,
          content: Buffer.from('x')
        })
        yield { type: 'file', ...file }
      }
    if (wants('data') || wants('json')) yield { type: 'structured', value: { a: 1 } }
  }
}

t.test('a part that the agent does not take is refused, in every version and on every binding', async (t) => {
  let runs = 0
  const counted: RunnableDefinition = { ...echo, run: () => String(++runs) }
  const { stream: _, ...agent } = counted
  const app = await buildApp(t, { runnables: [agent as RunnableDefinition] })
  const refused: [part: MessagePart, legacy: object, rest: object][] = [
    [
      png,
      { kind: 'file', file: { bytes: 'aGk=', mimeType: 'image/png' } },
      { file: { fileWithBytes: 'aGk=', mimeType: 'image/png' } }
    ],
    [
      { url: 'https://a.example/b', mediaType: 'Audio/WAV; x=1' },
      { kind: 'file', file: { uri: 'https://a.example/b', mimeType: 'audio/wav' } },
      { file: { fileWithUri: 'https://a.example/b', mimeType: 'audio/wav' } }
    ]
  ]
  for (const [part, legacy, rest] of refused) {
    for (const version of PROTOCOL_VERSIONS) {
      const parts = [{ text: 'see' }, part]
      const message =
        version === '1.0' ? sayV1('', { parts }) : say('', { parts: [{ kind: 'text', text: 'x' }, legacy] })
      const [reply] = await askByRpc(app, 'send', version, message)
      t.match(reply, {
        error: { code: -32005, message: /message\.parts\.1: the agent "echo" takes text\/plain/ }
      })
      const streamed = await askByRpc(app, 'stream', version, message)
      t.match(streamed, [{ error: { code: -32005 } }])
    }
    const current = await askByRest(app, OPERATIONS.send.rest['1.0'][0]!, sayV1('', { parts: [part] }))
    t.match(current, [{ error: { code: 400, status: 'INVALID_ARGUMENT' } }])
    t.match(JSON.stringify(current), /CONTENT_TYPE_NOT_SUPPORTED.*message\.parts\.0/)
    const old = { message: { role: 'ROLE_USER', content: [rest] } }
    t.match(await askByRest(app, OPERATIONS.send.rest['0.3'][0]!, old), [{ code: -32005 }])
  }
  const { origin } = app
  const statusOf = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  t.equal(await statusOf('/message:send', sayV1('', { parts: [png] })), 400)
  t.equal(
    await statusOf('/v1/message:send', { message: { role: 'ROLE_USER', content: [refused[0]![2]] } }),
    415
  )
  t.equal(
    await statusOf('', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: sayV1('', { parts: [png] }) }),
    200
  )
  for (const client of await connectSdkClients(origin)) await t.rejects(client.send([png]), client.name)
  t.equal(runs, 0)
})

t.test('what an agent takes: its own modes, else those of the service', async (t) => {
  const codeOf = async (app: Awaited<ReturnType<typeof buildApp>>, part: MessagePart, agentName = 'echo') =>
    (await app.rpc('SendMessage', sayV1('', { parts: [part], metadata: { agentName } }))).error?.code
  const plain = await buildApp(t, { runnables: [echo, looker] })
  const taken: MessagePart[] = [
    { text: 'x' },
    { text: '# x', mediaType: 'text/markdown' },
    { text: '{}', mediaType: 'application/json' },
    { data: { a: 1 } },
    { raw: 'aGk=', mediaType: 'text/plain; charset=utf-8' },
    { url: 'https://a.example/unknown' }
  ]
  for (const part of taken) t.equal(await codeOf(plain, part), undefined, JSON.stringify(part))
  const others: MessagePart[] = [
    png,
    { raw: 'aGk=', mediaType: 'text/csv' },
    { text: '<a/>', mediaType: 'application/xml' },
    { data: 1, mediaType: 'application/x-own' }
  ]
  for (const part of others) t.equal(await codeOf(plain, part), -32005, JSON.stringify(part))
  t.equal(await codeOf(plain, png, 'looker'), undefined)
  t.equal(await codeOf(plain, { data: 1 }, 'looker'), -32005)
  const open = await buildApp(t, { options: { defaultInputModes: ['*/*'] } })
  for (const part of [...taken, ...others]) t.equal(await codeOf(open, part), undefined, JSON.stringify(part))
})

t.test('answers to questions are not checked', async (t) => {
  const asking: RunnableDefinition = {
    kind: 'agent',
    name: 'asking',
    card: { inputModes: ['text/plain'] },
    async *stream(_input, context) {
      const { content } = await context.ask({ message: 'How many?', schema: Type.Object({}) })
      yield { type: 'text', text: JSON.stringify(content) }
    }
  }
  const { rpc } = await buildApp(t, { runnables: [asking] })
  const { id: taskId, status } = (await rpc('SendMessage', sayV1('x'))).result.task
  const { inputId } = status.message.parts[1].data
  const data = { inputId, action: 'accept', content: { n: 2 } }
  const answered = await rpc('SendMessage', sayV1('', { taskId, parts: [{ data }] }))
  t.match(answered.result.task.artifacts, [{ parts: [{ text: '{"n":2}' }] }])
})

/** The parts of the artifacts of an answer: sent, and as the events of a stream make them. */
async function outputsFor(t: Test, text: string, acceptedOutputModes: string[], request: AppRequest = {}) {
  const app = await buildApp(t, { runnables: [maker], ...request })
  const params = { ...sayV1(text), configuration: { acceptedOutputModes } }
  const { task } = (await app.rpc('SendMessage', params)).result
  const shown = (part: Record<string, unknown>) => part['text'] ?? part['data'] ?? part['mediaType']
  const sent = (task.artifacts as { parts: object[] }[]).flatMap(({ parts }) =>
    parts.map((each) => shown(each as never))
  )
  const built = new Map<string, unknown[]>()
  for (const { result } of await app.stream('SendStreamingMessage', params)) {
    const { artifact, append } = result.artifactUpdate ?? {}
    if (artifact === undefined) continue
    const parts = artifact.parts.map(shown)
    built.set(artifact.artifactId, append ? [...built.get(artifact.artifactId)!, ...parts] : parts)
  }
  // The answer is the first artifact of a task, its text in one part.
  const { [ANSWER_ID]: answer = [], ...others } = Object.fromEntries(built)
  const said = answer.filter((each) => typeof each === 'string').join('')
  const data = answer.filter((each) => typeof each !== 'string')
  const streamed = [...(said === '' ? [] : [said]), ...data, ...Object.values(others).flat()]
  const { result: whole } = await app.rpc('GetTask', { id: task.id })
  return { sent, streamed, task, whole }
}

t.test('a client gets what it accepts, in an answer and in a stream alike', async (t) => {
  const all = 'text data files'
  const cases: [text: string, accepted: string[], outputs: unknown[], why: string][] = [
    ['text', ['text/plain'], ['Here it is.'], 'a text'],
    ['text', ['text/markdown'], ['Here it is.'], 'any text is a text'],
    ['text', ['text'], ['Here it is.'], 'as early clients say it'],
    ['json', ['text/plain'], ['{"a":1}'], 'data that the text says already'],
    ['data', ['text/plain'], ['{"a":1}'], 'data as a text'],
    [all, ['application/json'], [{ a: 1 }], 'data alone'],
    [all, ['image/*'], ['image/png'], 'one file'],
    [
      all,
      ['text/csv', 'application/json'],
      ['Here it is.', { a: 1 }, 'text/csv'],
      'a text with a file of texts'
    ],
    [all, ['*/*'], ['Here it is.', { a: 1 }, 'image/png', 'text/csv'], 'everything'],
    [all, [], ['Here it is.', { a: 1 }, 'image/png', 'text/csv'], 'an empty list restricts nothing'],
    ['text', ['image/png'], ['Here it is.'], 'a text, if there is nothing else'],
    ['text data', ['image/png'], ['Here it is.'], 'no data either'],
    ['files', ['audio/wav'], [], 'nothing']
  ]
  for (const [text, accepted, outputs, why] of cases) {
    const { sent, streamed, whole } = await outputsFor(t, text, accepted)
    t.same(sent, outputs, why)
    t.same(streamed, outputs, `${why}, streamed`)
    const parts = (whole.artifacts as { parts: object[] }[]).flatMap((each) => each.parts)
    t.equal(
      parts.length,
      text.split(' ').flatMap((each) => (each === 'files' || each === 'json' ? [1, 2] : [1])).length
    )
  }
})

t.test('data that differs from the text follows it as a text', async (t) => {
  const { sent, streamed } = await outputsFor(t, 'text data', ['text/plain'])
  t.same(sent, ['Here it is.', '{"a":1}'])
  t.same(streamed, ['Here it is.{"a":1}'])
})

t.test('a client that does not take texts gets none in the history', async (t) => {
  const { task } = await outputsFor(t, 'text data', ['application/json'])
  t.match(task.history, [{ role: 'ROLE_USER' }])
  t.equal(task.history.length, 1)
})

t.test('a message alone has what the client accepts', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [maker], options: { reply: 'message' } })
  const configuration = { acceptedOutputModes: ['application/json'] }
  const { message } = (await rpc('SendMessage', { ...sayV1('text data files'), configuration })).result
  t.same(message.parts, [{ data: { a: 1 } }])
})

t.test('results of tools are tailored, too', async (t) => {
  const user: RunnableDefinition = {
    kind: 'agent',
    name: 'user',
    async *stream() {
      yield { type: 'tool.call', toolCallId: 'a', toolName: 'add', args: {} }
      yield { type: 'tool.result', toolCallId: 'a', toolName: 'add', result: { sum: 3 }, durationMs: 1 }
    }
  }
  const { sent, streamed } = await outputsFor(t, 'x', ['text/plain'], { runnables: [user] })
  t.same(sent, ['{"sum":3}'])
  t.same(streamed, sent)
})

t.test('an agent that makes nothing the client accepts is not run', async (t) => {
  const app = await buildApp(t, { runnables: [echo, looker] })
  const configuration = { acceptedOutputModes: ['image/png', 'audio/*', 'constructor'] }
  const ask = (agentName: string, more = {}) =>
    app.rpc('SendMessage', {
      ...sayV1('x', { metadata: { agentName } }),
      configuration: { ...configuration, ...more }
    })
  t.match(await ask('echo'), {
    error: { code: -32005, message: /acceptedOutputModes: the agent "echo" makes text\/plain/ }
  })
  t.match(
    await app.rpc('message/stream', { ...say('x', { metadata: { agentName: 'echo' } }), configuration }),
    {
      error: { code: -32005 }
    }
  )
  t.equal((await app.runs.list({ limit: 1 })).runs.length, 0)
  t.match(await ask('looker'), { result: { task: { artifacts: [{ parts: [{ text: 'x' }] }] } } })
  const tooMany = Array.from({ length: 101 }, () => 'text/plain')
  t.match(await ask('echo', { acceptedOutputModes: tooMany }), { error: { code: -32602 } })
  t.match(await ask('echo', { acceptedOutputModes: 'text/plain' }), { error: { code: -32602 } })
})

t.test('the agent learns what the client accepts, and which of its tasks it refers to', async (t) => {
  const seen: Envelope[] = []
  const learner: RunnableDefinition = {
    kind: 'agent',
    name: 'learner',
    async *stream(_input, { envelope }) {
      seen.push(envelope)
      yield { type: 'text', text: 'ok' }
    }
  }
  const { rpc } = await buildApp(t, {
    runnables: [learner],
    options: { authenticate: ({ token = 'me' }) => ({ sub: token, scopes: [] }) }
  })
  const { id } = (await rpc('SendMessage', sayV1('x'))).result.task
  const acceptedOutputModes = ['text/plain', 'Image/*']
  const message = sayV1('x', { referenceTaskIds: [id, 'unknown', id] })
  const send = (headers?: Record<string, string>) =>
    rpc('SendMessage', { ...message, configuration: { acceptedOutputModes } }, headers)
  t.match((await send()).result.task.history[0], { referenceTaskIds: [id, 'unknown', id] })
  await send({ authorization: 'Bearer other' })
  t.same(seen, [{}, { acceptedOutputModes, referenceTaskIds: [id] }, { acceptedOutputModes }])
  const tooMany = Array.from({ length: 101 }, String)
  t.match(await rpc('SendMessage', sayV1('x', { referenceTaskIds: tooMany })), { error: { code: -32602 } })
  const legacy = say('x', { referenceTaskIds: [id] })
  await rpc('message/send', { ...legacy, configuration: { acceptedOutputModes: [] } })
  t.same(seen.at(-1), { referenceTaskIds: [id] })
})
