import { join } from 'node:path'
import type { SessionKey } from '@svc/registry'
import { createStore } from '@svc/store'
import t from 'tap'

const keyOf = (sessionId: string): SessionKey => ({
  registry: 'global',
  owner: 'ann',
  kind: 'agent',
  name: 'far',
  sessionId
})

t.test('a session at another service survives restarts, and goes with its session or its age', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const first = await createStore({ url })
  for (const id of ['1', '2']) {
    await first.remoteSessions.save(keyOf(id), 'x', { contextId: id })
    await first.sessions.append(keyOf(id), 'turn', [{ role: 'user', content: 'Hi' }])
  }
  await first.close()
  const { sessions, remoteSessions, close } = await createStore({ url, retention: { sessionMaxAge: 1_000 } })
  t.teardown(close)
  t.same(await remoteSessions.load(keyOf('1'), 'x'), { contextId: '1' })
  await sessions.remove(keyOf('1'))
  t.equal(await remoteSessions.load(keyOf('1'), 'x'), undefined)
  await sessions.sweep(Date.now())
  t.same(await remoteSessions.load(keyOf('2'), 'x'), { contextId: '2' })
  await sessions.sweep(Date.now() + 2_000)
  t.equal(await remoteSessions.load(keyOf('2'), 'x'), undefined)
})
