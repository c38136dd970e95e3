import { defineRunnable } from '@svc/registry'
import { authenticate, painter, PNG } from '@tools/wires/agents'
import t from 'tap'
import { agentsApp, collect, refusalOf } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const

/** An agent that makes two files of one name. */
const writer = defineRunnable({
  kind: 'agent',
  name: 'writer',
  async *stream(_, { runId, stores }) {
    for (const text of ['one', 'two!']) {
      const file = { mimeType: 'text/plain', filename: 'note.txt', content: Buffer.from(text) }
      const { fileId, mimeType, sha256 } = await stores.files!.put(runId, file)
      yield { type: 'file', fileId, mimeType, sha256, filename: 'note.txt' }
    }
    yield { type: 'text', text: 'Written.' }
  }
})

t.test('files that turns have made are artifacts of their session', async (t) => {
  const { client } = await agentsApp(t, { runnables: [writer, painter] })
  const { sessions } = client().beta.agents
  const { id } = await sessions.create({ agent_id: 'writer', environment })
  t.same((await sessions.artifacts.list(id)).data, [])
  const result = await sessions.stream(id, { input: 'Write' }).finalResult()
  const { data } = await sessions.artifacts.list(id, { order: 'asc' })
  const [first, second] = data
  t.match(first, {
    object: 'agent.session.artifact',
    session_id: id,
    turn_id: result.turn.id,
    environment_id: 'none',
    path: '/note.txt',
    size_bytes: 3
  })
  t.match(second, { size_bytes: 4, path: /^\/.+\/note\.txt$/ })
  t.same(await sessions.artifacts.retrieve(second!.id, { session_id: id }), second)
  const content = await sessions.artifacts.content(second!.id, { session_id: id })
  t.equal(await content.text(), 'two!')
  t.equal(await (await sessions.artifacts.forResult(result).content('/note.txt')).text(), 'one')

  const again = await sessions.stream(id, { input: 'Write' }).finalResult()
  const all = await collect(sessions.artifacts.list(id, { order: 'asc', limit: 1 }))
  t.same(
    all.map((artifact) => artifact.turn_id),
    [result.turn.id, result.turn.id, again.turn.id, again.turn.id]
  )
  t.same(await collect(sessions.artifacts.list(id, { limit: 3 })), all.toReversed())
  t.same((await sessions.artifacts.list(id, { environment_id: 'env_1' })).data, [])

  const painted = await sessions.create({ agent_id: 'painter', environment, input: 'Paint', stream: true })
  let session = ''
  for await (const event of painted) if ('session' in event) session = event.session.id
  const [dot] = (await sessions.artifacts.list(session)).data
  const bytes = await (await sessions.artifacts.content(dot!.id, { session_id: session })).arrayBuffer()
  t.equal(Buffer.from(bytes).toString('base64'), PNG)

  for (const unknown of [dot!.id, 'file_none_1', 'none']) {
    const NOT_FOUND = { status: 404, code: 'RUN_ERR_FILE_NOT_FOUND' }
    t.match(
      await refusalOf(sessions.artifacts.retrieve(unknown, { session_id: id })),
      NOT_FOUND,
      'of another session'
    )
    t.match(await refusalOf(sessions.artifacts.content(unknown, { session_id: id })), NOT_FOUND)
    t.match(await refusalOf(sessions.artifacts.list(id, { after: unknown })), {
      code: 'OPENAI_ERR_BAD_CURSOR'
    })
  }
  t.match(await refusalOf(sessions.artifacts.delete(first!.id, { session_id: id })), {
    status: 400,
    code: 'OPENAI_ERR_UNSUPPORTED'
  })
})

t.test('artifacts of others are not found, and a turn has its own once it is over', async (t) => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream(_, { runId, stores }) {
      const { fileId, mimeType } = await stores.files!.put(runId, {
        mimeType: 'text/plain',
        content: Buffer.from('x')
      })
      yield { type: 'file', fileId, mimeType }
      yield { type: 'text', text: 'Made.' }
      await isOver
    }
  })
  const { client } = await agentsApp(t, {
    runnables: [slow],
    options: { authenticate: authenticate as never }
  })
  const mine = client('ada').beta.agents.sessions
  const theirs = client('bob').beta.agents.sessions
  const stream = await mine.create({ agent_id: 'slow', environment, input: 'Make', stream: true })
  let id = ''
  for await (const event of stream) {
    if (event.type === 'agent.session.created') ({ id } = event.session)
    if (event.type !== 'agent.session.turn.output_text.delta') continue
    t.same((await mine.artifacts.list(id)).data, [])
    end()
  }
  const [artifact] = (await mine.artifacts.list(id)).data
  t.match(artifact, { path: /^\/.+/, size_bytes: 1 })
  for (const read of [
    () => theirs.artifacts.list(id),
    () => theirs.artifacts.retrieve(artifact!.id, { session_id: id }),
    () => theirs.artifacts.content(artifact!.id, { session_id: id })
  ])
    t.match(await refusalOf(read()), { status: 404, code: 'RUN_ERR_SESSION_NOT_FOUND' })
})
