import { createInProcessStores } from '@svc/registry'
import { createTestCluster, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

t.test('alive and ready', async (t) => {
  const { get } = await buildApp(t)
  t.strictSame(await (await get('/livez')).json(), { status: 'ok' })
  t.strictSame(await (await get('/readyz')).json(), { status: 'ok' })
})

t.test('not ready while the engine closes', async (t) => {
  const { get, runs } = await buildApp(t)
  await runs.close()
  await requireError(t, await get('/readyz'), 503, 'RUN_ERR_DRAINING')
  t.equal((await get('/livez')).status, 200)
})

t.test('not ready before recovery is complete', async (t) => {
  const stores = createInProcessStores()
  const reached = Promise.withResolvers<void>()
  let away = true
  const runs = {
    ...stores.runs,
    async listLeft(query: Parameters<typeof stores.runs.listLeft>[0]) {
      if (away) {
        away = false
        throw new Error('connection refused')
      }
      await reached.promise
      return stores.runs.listLeft(query)
    }
  }
  const { get, runs: engine } = await buildApp(t, {
    before: (app) => app.decorate('store', { ...stores, runs } as never)
  })
  // The first look fails, the second one takes its time: nobody is kept waiting.
  const refusal = await get('/readyz')
  t.ok(refusal.headers.get('retry-after'))
  await requireError(t, refusal, 503, 'RUN_ERR_RECOVERING')
  t.equal((await get('/livez')).status, 200)
  t.equal((await get('/runs')).status, 200)
  reached.resolve()
  await engine.recover()
  t.equal((await get('/readyz')).status, 200)
})

t.test('not ready, and no new runs, without contact to a store that several processes share', async (t) => {
  const node = createTestCluster().join()
  const { get, post } = await buildApp(t, {
    runnables: [scriptedRunnable([])],
    before: (app) => app.decorate('store', node.stores as never)
  })
  t.equal((await get('/readyz')).status, 200)
  node.loseContact()
  await requireError(t, await get('/readyz'), 503, 'RUN_ERR_NO_LEASE')
  const refused = await post('/agents/scripted/run', { input: 'Hi' })
  t.ok(refused.headers.get('retry-after'))
  await requireError(t, refused, 503, 'RUN_ERR_NO_LEASE')
  t.equal((await get('/runs')).status, 200)
  await node.regainContact()
  t.equal((await get('/readyz')).status, 200)
  t.equal((await post('/agents/scripted/run', { input: 'Hi' })).status, 200)
})

t.test('not ready while a store fails', async (t) => {
  let away = true
  const check = async () => {
    if (away) throw new Error('connection refused at secret-host')
  }
  const { get } = await buildApp(t, {
    before: (app) => app.decorate('store', { ...createInProcessStores(), check } as never)
  })
  const body = await requireError(t, await get('/readyz'), 503, 'RUN_ERR_STORE')
  t.notMatch(JSON.stringify(body), /secret-host/)
  away = false
  // A look at the store is good for a second.
  while ((await get('/readyz')).status !== 200);
})
