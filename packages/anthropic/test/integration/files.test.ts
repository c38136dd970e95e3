import { join } from 'node:path'
import { defineRunnable } from '@svc/registry'
import { authenticate, painter, PNG } from '@tools/wires/agents'
import { findTypeFaults } from '@tools/wires/sdk-types'
import t from 'tap'
import { readAll, refusalOf, sessionsApp, untilIdle } from '../helpers/sessions-app.ts'

const FILE = `import type { BetaFileMetadata } from '@anthropic-ai/sdk/resources/beta/files'`
const ask = (text: string) => ({
  events: [{ type: 'user.message' as const, content: [{ type: 'text' as const, text }] }]
})
const environment_id = 'env_service'

t.test('files that turns have made are those of their session', async (t) => {
  const { client, origin } = await sessionsApp(t, { runnables: [painter] })
  const { files, sessions } = client.beta
  const { id } = await sessions.create({ agent: 'painter', environment_id })
  t.same(await readAll(files.list({ scope_id: id })), [])
  await sessions.events.send(id, ask('Paint'))
  await untilIdle(client, id)
  await sessions.events.send(id, ask('Again'))
  await untilIdle(client, id, 2)
  const all = await readAll(files.list({ scope_id: id, limit: 1 }))
  t.equal(all.length, 2)
  const [newest, first] = all
  t.match(first, {
    type: 'file',
    filename: 'dot.png',
    mime_type: 'image/png',
    size_bytes: Buffer.from(PNG, 'base64').length,
    downloadable: true,
    scope: { type: 'session', id }
  })
  t.ok(newest!.created_at >= first!.created_at)
  t.equal(await findTypeFaults({ BetaFileMetadata: all }, [FILE], join(t.testdir(), 'files.ts')), '')
  t.same(await files.retrieveMetadata(first!.id), first)
  const bytes = Buffer.from(await (await files.download(first!.id)).arrayBuffer())
  t.equal(bytes.toString('base64'), PNG)

  const other = await sessions.create({ agent: 'painter', environment_id })
  const ids = [first!.id, 'file_none_1', 'none', first!.id]
  t.same(await readAll(files.list({ ids })), [first], 'those that are there, once')
  t.same(await readAll(files.list({ ids, scope_id: other.id })), [])
  t.equal(await refusalOf(files.list({ ids, limit: 1 })), '400 ANTHROPIC_ERR_BAD_REQUEST')
  t.equal(
    await refusalOf(files.list({ ids: Array.from({ length: 101 }, () => 'x') })),
    '400 ANTHROPIC_ERR_BAD_REQUEST'
  )
  t.equal(await refusalOf(files.list()), '400 ANTHROPIC_ERR_BAD_REQUEST')
  t.equal(await refusalOf(files.list({ scope_id: 'none' })), '404 RUN_ERR_SESSION_NOT_FOUND')
  const page = (await files.list({ scope_id: id, limit: 1 })).next_page!
  t.equal(await refusalOf(files.list({ scope_id: other.id, page })), '400 ANTHROPIC_ERR_BAD_PAGE')
  for (const unknown of ['none', 'file_none_1', `${first!.id}0`, '__proto__']) {
    t.equal(await refusalOf(files.retrieveMetadata(unknown)), '404 RUN_ERR_FILE_NOT_FOUND')
    t.equal(await refusalOf(files.download(unknown)), '404 RUN_ERR_FILE_NOT_FOUND')
  }
  t.equal(await refusalOf(files.delete(first!.id)), '400 ANTHROPIC_ERR_UNSUPPORTED')
  t.equal(await refusalOf(files.list({ betas: ['dreaming-2026-04-21'] })), '400 ANTHROPIC_ERR_UNKNOWN_BETA')
  const betas = ['files-api-2025-04-14', 'managed-agents-2026-04-01']
  t.equal((await readAll(files.list({ scope_id: id, betas }))).length, 2)
  const mixed = await fetch(`${origin}/managed/v1/sessions`, { headers: { 'anthropic-beta': betas.join() } })
  t.equal(mixed.status, 400, 'only of files')

  await sessions.delete(id)
  t.equal(await refusalOf(files.retrieveMetadata(first!.id)), '404 RUN_ERR_FILE_NOT_FOUND')
  t.equal(await refusalOf(files.download(first!.id)), '404 RUN_ERR_FILE_NOT_FOUND')
})

t.test('files of others are not found, and a turn has its own once it is over', async (t) => {
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  const slow = defineRunnable({
    kind: 'agent',
    name: 'slow',
    async *stream(_, { runId, stores }) {
      const content = Buffer.from('x')
      const { fileId, mimeType } = await stores.files!.put(runId, { mimeType: 'text/plain', content })
      yield { type: 'file', fileId, mimeType }
      yield { type: 'text', text: 'Made.' }
      await isOver
    }
  })
  const { connect } = await sessionsApp(t, { runnables: [slow], options: { authenticate } })
  const [mine, theirs] = [connect({ apiKey: 'ada' }), connect({ apiKey: 'bob' })]
  const { id } = await mine.beta.sessions.create({ agent: 'slow', environment_id })
  const stream = await mine.beta.sessions.events.stream(id, { event_deltas: ['agent.message'] })
  await mine.beta.sessions.events.send(id, ask('Make'))
  for await (const event of stream) {
    if (event.type === 'event_delta') {
      t.same(await readAll(mine.beta.files.list({ scope_id: id })), [])
      end()
    }
    if (event.type === 'session.status_idle') break
  }
  const [file] = await readAll(mine.beta.files.list({ scope_id: id }))
  t.match(file, { filename: /./, size_bytes: 1 }, 'named after its id')
  t.equal(await refusalOf(theirs.beta.files.list({ scope_id: id })), '404 RUN_ERR_SESSION_NOT_FOUND')
  t.same(await readAll(theirs.beta.files.list({ ids: [file!.id] })), [])
  t.equal(await refusalOf(theirs.beta.files.retrieveMetadata(file!.id)), '404 RUN_ERR_FILE_NOT_FOUND')
  t.equal(await refusalOf(theirs.beta.files.download(file!.id)), '404 RUN_ERR_FILE_NOT_FOUND')
})
