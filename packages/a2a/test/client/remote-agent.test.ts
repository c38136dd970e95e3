import { remoteAgent } from '@svc/a2a'
import { createContext, createRunEngine, type NumberedPart } from '@svc/registry'
import { runnableContract } from '@svc/testing'
import { Type } from '@sinclair/typebox'
import { grpcBinding, grpcTransport } from '@svc/a2a/grpc'
import Fastify from 'fastify'
import { endsWithin } from '@tools/wires/ends-within'
import t from 'tap'
import { asker, createQuestioner, chunks, createWaiting, failing, worker } from '../helpers/agents.ts'
import { buildApp, echo } from '../helpers/build-app.ts'

const token = 'the secret token'
const questioner = createQuestioner(Type.Integer())

const dialects = (['1.0', '0.3'] as const).flatMap((version) =>
  ['JSONRPC', 'HTTP+JSON', 'GRPC'].map((binding) => ({ version, binding }))
)

const transports = [grpcTransport()]

for (const { version, binding } of dialects) {
  t.test(`the contract of runnables, against a server of ${version} over ${binding}`, async (t) => {
    const waiting = createWaiting()
    const { url } = await buildApp(t, {
      runnables: [echo, waiting.runnable],
      options: {
        grpc: grpcBinding({ port: 0 }),
        versions: [version],
        authenticate: (given) => (given.token === token ? { sub: 'me', scopes: [] } : null)
      }
    })
    runnableContract(t, () => remoteAgent({ url, name: 'far', binding, transports, token }), {
      secrets: [token],
      makeHanging: () => remoteAgent({ url, name: 'far', agentName: 'waiting', binding, transports, token })
    })
    t.test('it uses that version', async (t) => {
      await t.rejects(
        remoteAgent({ url, version: version === '1.0' ? '0.3' : '1.0', token }).run('x', createContext()),
        {
          code: 'A2A_ERR_REMOTE',
          message: /-32009/
        }
      )
    })
  })

  t.test(`the result of a run through a server of ${version} over ${binding}`, async (t) => {
    const waiting = createWaiting()
    const { origin, runs } = await buildApp(t, {
      runnables: [echo, worker, asker, questioner, failing, waiting.runnable, chunks(200)],
      options: { versions: [version], grpc: grpcBinding({ port: 0 }), defaultInputModes: ['*/*'] }
    })
    const engine = createRunEngine()
    t.teardown(() => engine.close())
    const make = (agentName: string) => remoteAgent({ url: origin, agentName, binding, transports })

    await t.test('text, tools and structured output', async (t) => {
      const result = await (await engine.start(make('worker'), 'x')).result()
      t.match(result, { text: 'It is 3.', structured: { sum: 3 }, finishReason: 'stop' })
      t.same(new Set(result.toolCalls.map(({ toolName }) => toolName)), new Set(['add', 'say']))
    })

    await t.test('chunks are streamed', async (t) => {
      const run = await engine.start(make('waiting'), 'x')
      const parts: NumberedPart[] = []
      for await (const part of run.parts()) {
        parts.push(part)
        if (part.type === 'text' && part.text === 'one ') waiting.goOn()
      }
      t.match(
        parts.filter(({ type }) => type === 'text'),
        [{ text: 'one ' }, { text: 'two' }]
      )
      const many = await (await engine.start(make('chunks-200'), 'x')).result()
      t.equal(many.text, Array.from({ length: 200 }, (_, index) => `word ${index} `).join(''))
    })

    await t.test('cancel reaches the remote agent within 200 ms', async (t) => {
      waiting.reset()
      const run = await engine.start(make('waiting'), 'x')
      for await (const part of run.parts()) if (part.type === 'text') break
      const canceled = run.cancel()
      t.ok(await endsWithin(200, waiting.aborted()))
      await canceled
    })

    await t.test('approvals are requested locally', async (t) => {
      const run = await engine.start(make('asker'), 'x')
      for await (const part of run.parts()) {
        if (part.type !== 'tool.approval.request') continue
        t.match(part, { toolName: 'remove', args: { path: 'x' } })
        await engine.answer(part.approvalId, { approved: true, args: { path: 'z' } })
      }
      t.equal((await run.result()).text, 'true {"path":"z"}')
    })

    await t.test('questions are asked locally', async (t) => {
      const run = await engine.start(make('questioner'), 'x')
      for await (const part of run.parts()) {
        if (part.type !== 'input.request') continue
        t.match(part, { kind: 'question', message: 'Which size?', schema: { type: 'integer' } })
        await engine.answer(part.inputId, { action: 'accept', content: 3 })
      }
      t.equal((await run.result()).text, '{"action":"accept","content":3}')
    })

    await t.test('a session is a context', async (t) => {
      const agent = make('echo')
      for (const _ of [1, 2]) await (await engine.start(agent, 'x', { sessionId: 'mine' })).result()
      await (await engine.start(agent, 'x', { sessionId: 'other' })).result()
      const { runs: some } = await runs.list({ limit: 3, name: 'echo' })
      t.equal(new Set(some.map(({ sessionId }) => sessionId)).size, 2)
    })

    await t.test('files and data', async (t) => {
      const input = [
        { type: 'text', text: 'see' },
        { type: 'image', mimeType: 'image/png', data: 'aGk=', filename: 'a.png' }
      ]
      // The proto of 0.3 has no names of files.
      const [first, { filename: _, ...unnamed }] = input as [object, { filename?: string }]
      const said = JSON.parse((await (await engine.start(make('echo'), input)).result()).text) as unknown
      t.same(said, version === '0.3' && binding === 'GRPC' ? [first, unnamed] : input)
    })

    await t.test('a failed task, and an unknown agent', async (t) => {
      const failed = await engine.start(make('failing'), 'x')
      await t.rejects(failed.result(), {
        code: 'A2A_ERR_REMOTE',
        statusCode: 502,
        message: /failed: The run failed/
      })
      const absent = await engine.start(make('nobody'), 'x')
      await t.rejects(absent.result(), { code: 'A2A_ERR_REMOTE', message: /-32602/ })
    })
  })
}

t.test('unusable services', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/other/.well-known/agent-card.json', () => ({ url: 'https://example.org/a2a' }))
  app.get('/nonsense/.well-known/agent-card.json', () => 'x')
  app.get('/none/.well-known/agent-card.json', () => ({ supportedInterfaces: [] }))
  app.get('/broken/.well-known/agent-card.json', (_request, reply) => reply.code(500).send())
  app.post('/endless', () => ({ jsonrpc: '2.0', id: 1, result: { kind: 'status-update' } }))
  app.post('/stray', (_request, reply) => reply.type('text/html').send('<p>'))
  app.post('/moved', (_request, reply) => reply.redirect('/stray'))
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const run = (path: string, more = {}) =>
    remoteAgent({ url: origin + path, ...more }).run('x', createContext())

  await t.rejects(run('/other'), { code: 'A2A_ERR_REMOTE', message: /another host/ })
  await t.rejects(run('/nonsense'), { code: 'A2A_ERR_BAD_ANSWER' })
  await t.rejects(run('/none'), { code: 'A2A_ERR_BAD_ANSWER' })
  await t.rejects(run('/broken'), { code: 'A2A_ERR_REMOTE', message: /500/ })
  await t.rejects(run('/absent'), { code: 'A2A_ERR_REMOTE', message: /no agent card/ })
  await t.rejects(run('/endless', { version: '0.3' }), { code: 'A2A_ERR_BAD_ANSWER' })
  await t.rejects(run('/stray', { version: '1.0' }), { code: 'A2A_ERR_BAD_ANSWER' })
  await t.rejects(run('/moved', { version: '1.0' }), { code: 'A2A_ERR_REMOTE' })
  await t.rejects(remoteAgent({ url: 'http://127.0.0.1:1' }).run('x', createContext()), {
    code: 'A2A_ERR_REMOTE',
    message: /cannot be reached/
  })
  const url = 'http://127.0.0.1:1'
  for (const [options, message] of [
    [undefined, /object/],
    [{ url: 'nonsense' }, /url: must be an absolute http or https URL/],
    [{ url: 'ftp://127.0.0.1' }, /url: must be an absolute http or https URL/],
    [{ url: 'https://me:secret@example.org' }, /url: must have no user and no password$/],
    [{ url, headers: { authorization: ['hush'] } }, /headers\/authorization: expected a string, got a list$/],
    [{ url, token: { key: 'hush' } }, /token: expected a string or a function, got an object$/],
    [{ url, version: '2.0' }, /version: expected '0\.3' or '1\.0', got another string$/],
    [{ url, timeout: 'x' }, /timeout/],
    [{ url, extensions: ['a b'] }, /extensions/],
    [{ url, bogus: 1 }, /bogus/],
    [{ url, name: '' }, /name: expected a string that is not empty/],
    [{ url, name: 'a/b' }, /name: Bad name: it has a control character or one of /],
    [{ url, name: ' far' }, /name: Bad name: it begins or ends with a space$/],
    [
      { url: `http://${'a'.repeat(60)}.${'b'.repeat(63)}.example.org` },
      /name, by default the host of url: Bad name/
    ]
  ] as const)
    t.throws(() => remoteAgent(options as never), { code: 'A2A_ERR_BAD_OPTION', message })
  t.equal(remoteAgent({ url: 'https://agents.example.org:8080/x' }).name, 'agents.example.org:8080')
})
