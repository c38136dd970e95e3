import { createMemoryStores } from '@svc/registry'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

t.test('up and ready', async (t) => {
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

t.test('not ready while a store is away', async (t) => {
  let away = true
  const check = async () => {
    if (away) throw new Error('connection refused at secret-host')
  }
  const { get } = await buildApp(t, {
    before: (app) => app.decorate('store', { ...createMemoryStores(), check } as never)
  })
  const body = await requireError(t, await get('/readyz'), 503, 'RUN_ERR_STORE')
  t.notMatch(JSON.stringify(body), /secret-host/)
  away = false
  t.equal((await get('/readyz')).status, 200)
})
