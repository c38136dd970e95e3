import {
  createRunEngine,
  defineRunnable,
  GLOBAL_REGISTRY,
  removeSession,
  type SessionKey
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import t from 'tap'

const key: SessionKey = {
  registry: GLOBAL_REGISTRY,
  kind: 'agent',
  name: 'echo',
  owner: 'anonymous',
  sessionId: 's'
}
const echo = defineRunnable({ kind: 'agent', name: 'echo', run: (input) => String(input) })

t.test('readers of a session that was created get its first run from the beginning', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const { sessions } = engine
  const created = await sessions.create(key, { title: 'Mine', settings: { wire: { a: 1 } } })
  t.match(created, { sessionId: 's', title: 'Mine', lastOrdinal: 0 })
  const parts = sessions.parts(key)
  const first = parts.next()
  const run = await engine.start(echo, 'one', { sessionId: 's' })
  t.match((await first).value, { id: '1.1', runId: run.runId })
  await parts.return()
  await run.result()
  t.same(await sessions.runs(key, 0, 9), [{ ordinal: 1, runId: run.runId }])
  t.same(await sessions.settings(key), { wire: { a: 1 } })
  await removeSession(engine, key)
  t.equal(await sessions.settings(key), undefined)
})

t.test('what a session is created with is checked', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const { sessions } = engine
  const refused = (given: object, sessionId = 'x') =>
    codeOf(() => sessions.create({ ...key, sessionId }, given))
  t.equal(await refused({}, ''), 'RUN_ERR_BAD_SESSION')
  t.equal(await refused({ title: '' }), 'RUN_ERR_BAD_SESSION')
  t.equal(await refused({ metadata: { a: 1 } }), 'RUN_ERR_BAD_SESSION')
  t.equal(await refused({ settings: { wire: 'é'.repeat(32_768) } }), 'RUN_ERR_BAD_SESSION')
  t.equal(await sessions.find({ ...key, sessionId: 'x' }), undefined)
  await sessions.create({ ...key, sessionId: 'x' }, { settings: { wire: 'é'.repeat(32_761) } })
  t.equal(await refused({}), 'RUN_ERR_SESSION_EXISTS')
  t.equal(
    await codeOf(() =>
      sessions.update({ ...key, sessionId: 'x' }, { settings: { wire: 'é'.repeat(32_768) } })
    ),
    'RUN_ERR_BAD_SESSION'
  )
})
