import { remoteAgent } from '@svc/a2a'
import { createRunEngine, type RunEngine } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'

/** A service, and the nodes of another one that calls it, each with an agent object of its own. */
async function build(t: Test) {
  const { url, runs } = await buildApp(t, { runnables: [echo] })
  const { join } = createTestCluster()
  const createNode = () => {
    const engine = createRunEngine({ stores: join().stores })
    t.teardown(() => engine.close())
    return engine
  }
  const seen = new Set<string>()
  const ask = async (engine: RunEngine, sessionId: string, owner: string, to = url) => {
    const principal = { sub: owner, scopes: [] }
    const run = await engine.start(remoteAgent({ url: to, name: 'far' }), 'x', { sessionId, principal })
    await run.result()
    const last = (await runs.list({ limit: 9 })).runs.find(({ runId }) => !seen.has(runId))!
    seen.add(last.runId)
    return last.sessionId
  }
  return { url, nodes: [createNode(), createNode()] as const, ask }
}

t.test('a follow-up on another node goes to the same conversation', async (t) => {
  const { url, nodes, ask } = await build(t)
  const [first, second] = nodes
  const context = await ask(first, 'mine', 'ann')
  t.equal(await ask(second, 'mine', 'ann'), context)
  t.equal(await ask(first, 'mine', 'ann'), context)
  t.not(await ask(second, 'other', 'ann'), context, 'another session')
  t.not(await ask(second, 'mine', 'bob'), context, 'the session of another owner')
  t.not(await ask(second, 'mine', 'ann', `${url}/`), context, 'another service')
})

t.test('stores that keep no such sessions: the agent object keeps them', async (t) => {
  const { url, runs } = await buildApp(t, { runnables: [echo] })
  const { remoteSessions: _, lease: __, ...stores } = createTestCluster().join().stores
  const engine = createRunEngine({ stores })
  t.teardown(() => engine.close())
  const agent = remoteAgent({ url, name: 'far' })
  for (const _ of [1, 2]) await (await engine.start(agent, 'x', { sessionId: 'mine' })).result()
  const { runs: all } = await runs.list({ limit: 9 })
  t.equal(all.length, 2)
  t.equal(new Set(all.map(({ sessionId }) => sessionId)).size, 1)
})
