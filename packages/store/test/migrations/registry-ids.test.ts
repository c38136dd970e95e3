import { join } from 'node:path'
import { storedRun } from '@svc/registry/testing'
import { createStore } from '@svc/store'
import t from 'tap'
import { MIGRATIONS } from '../../src/migrations/migrations.ts'
import { makeFile } from '../helpers/database-file.ts'

const EARLIER = Object.fromEntries(Object.entries(MIGRATIONS).filter(([name]) => name < '0007'))

t.test('rows from before registry ids belong to the global registry', async (t) => {
  const path = join(t.testdir(), 'app.db')
  await makeFile(path, EARLIER)
  const store = await createStore({ url: `sqlite:${path}` })
  t.teardown(() => store.close())
  const { runs, sessions, tasks } = store
  t.match(await runs.get('r'), { registry: 'global', name: 'a' })
  t.match(await runs.listUnfinished({ limit: 9 }), { runs: [{ runId: 'w', registry: 'global' }] })

  const key = { registry: 'global', owner: 'o', kind: 'agent', name: 'a', sessionId: 's' } as const
  t.same(await sessions.load(key, 9), [{ role: 'user', content: 'old' }])
  t.same(await sessions.load({ ...key, registry: 'b' }, 9), [])

  t.match(await tasks.get('r'), { registry: 'global', messages: [{}] })
  t.equal(await tasks.taskOfMessage('global', 'o', 'm'), 'r')
  t.equal(await tasks.taskOfMessage('b', 'o', 'm'), undefined)
  t.match(await tasks.lastOfContext(['global'], 'o', 'c'), { taskId: 'r' })
  t.equal(await tasks.lastOfContext(['b'], 'o', 'c'), undefined)
  await runs.remove('r')
  t.equal(await tasks.taskOfMessage('global', 'o', 'm'), undefined, 'a message still goes with its task')

  const startKey = { key: 'k', hash: 'h' }
  const first = storedRun({ startKey })
  t.equal(await runs.create(first), undefined)
  t.match(await runs.create(storedRun({ startKey })), { runId: first.runId })
  t.equal(await runs.create(storedRun({ startKey, registry: 'b' })), undefined)
})
