import http, { type RunList } from '@svc/http'
import { createRegistry, defineRunnable, type RunRecord } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify from 'fastify'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp, type SecuredApp } from '../helpers/secured-app.ts'

type AdminList = { runs: (RunRecord & { owner: string })[]; nextCursor: string | null }

const endless = scriptedRunnable([60_000], { name: 'endless' })
const run = async ({ ask, as }: SecuredApp, sub: string, name = 'echo') => {
  const headers = { ...as(sub, 'agents:run'), ...(name === 'endless' && { prefer: 'respond-async' }) }
  const response = await ask('POST', `/agents/${name}/run`, headers, { input: 'x' })
  return ((await response.json()) as { runId: string }).runId
}

t.test('the runs of all owners, in pages, by any filter', async (t) => {
  const app = await buildSecuredApp(t, { runnables: [echo, endless] })
  const admin = app.as('root', 'admin:*')
  const ids: string[] = []
  for (const sub of ['ann', 'bob', 'ann']) ids.unshift(await run(app, sub))
  ids.unshift(await run(app, 'eve', 'endless'))
  const list = async (query = '') =>
    (await (await app.ask('GET', `/admin/runs${query}`, admin)).json()) as AdminList
  const idsOf = async (query: string) => (await list(query)).runs.map(({ runId }) => runId).toSorted()

  const { runs, nextCursor } = await list()
  t.strictSame(runs.map(({ runId }) => runId).toSorted(), ids.toSorted())
  t.strictSame(runs.map(({ owner }) => owner).toSorted(), ['ann', 'ann', 'bob', 'eve'])
  t.equal(nextCursor, null)
  t.strictSame(await idsOf('?owner=ann'), [ids[1]!, ids[3]!].toSorted())
  t.strictSame(await idsOf('?name=endless'), [ids[0]])
  t.strictSame(await idsOf('?status=completed&owner=bob'), [ids[2]])
  t.strictSame(await idsOf('?kind=team'), [])
  const first = await list('?limit=3')
  const second = await list(`?limit=3&cursor=${first.nextCursor}`)
  t.strictSame([first.runs.length, second.runs.length], [3, 1])
  const { runs: own } = (await (await app.ask('GET', '/runs', admin)).json()) as RunList
  t.strictSame(own, [], 'one’s own list stays one’s own')

  for (const query of [
    'owner=',
    'kind=robot',
    'status=x',
    'limit=0',
    'limit=101',
    `owner=${'x'.repeat(257)}`
  ])
    await requireError(
      t,
      await app.ask('GET', `/admin/runs?${query}`, admin),
      400,
      'HTTP_ERR_VALIDATION',
      query
    )
  await requireError(t, await app.ask('GET', '/admin/runs?cursor=x', admin), 400, 'REG_ERR_BAD_CURSOR')
})

t.test('ended runs are removed by filter; active ones stay', async (t) => {
  const app = await buildSecuredApp(t, { runnables: [echo, endless] })
  const admin = app.as('root', '*')
  const open = await run(app, 'ann', 'endless')
  for (let i = 0; i < 120; i++) await (await app.runs.start(app.registry.get('agent', 'echo')!, 'x')).result()
  const bobs = await run(app, 'bob')
  const remove = async (query = '') => (await app.ask('DELETE', `/admin/runs${query}`, admin)).json()

  t.strictSame(await remove('?owner=bob'), { removed: 1 })
  t.equal((await app.ask('GET', `/runs/${bobs}`, admin)).status, 404)
  t.strictSame(await remove('?status=working'), { removed: 0 })
  t.strictSame(await remove(), { removed: 120 }, 'more than one batch')
  t.match(await (await app.ask('GET', '/admin/runs', admin)).json(), { runs: [{ runId: open }] })
  const response = await app.ask('DELETE', '/admin/runs?owners=bob', admin)
  await requireError(t, response, 400, 'HTTP_ERR_VALIDATION', 'a filter that is misspelt removes nothing')
})

t.test('a runnable is unregistered; its runs continue', async (t) => {
  const app = await buildSecuredApp(t, { runnables: [endless, { ...echo, kind: 'team' }] })
  const admin = app.as('root', 'admin:*')
  const runId = await run(app, 'ann', 'endless')
  const response = await app.ask('DELETE', '/admin/agents/endless', admin)
  t.equal(response.status, 204)
  t.equal(await response.text(), '')
  t.equal(app.registry.get('agent', 'endless'), undefined)
  const again = await app.ask('DELETE', '/admin/agents/endless', admin)
  await requireError(t, again, 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
  const gone = await app.ask('POST', '/agents/endless/run', admin, { input: 'x' })
  await requireError(t, gone, 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
  t.match(await (await app.ask('GET', '/admin/runs', admin)).json(), { runs: [{ runId, status: 'working' }] })
  await requireError(
    t,
    await app.ask('DELETE', '/admin/agents/echo', admin),
    404,
    'HTTP_ERR_UNKNOWN_RUNNABLE'
  )
  t.equal((await app.ask('DELETE', '/admin/teams/echo', admin)).status, 204)
})

t.test('without authentication there is no administration', async (t) => {
  const { get, url } = await buildApp(t)
  await requireError(t, await get('/admin/runs'), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
  const removal = await fetch(`${url}/admin/runs`, { method: 'DELETE' })
  await requireError(t, removal, 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
  const app = Fastify()
  t.teardown(() => app.close())
  const register = async () => app.register(http, { registry: createRegistry(), admin: true })
  await t.rejects(register(), { code: 'HTTP_ERR_BAD_OPTION', message: /admin/ })
})

t.test('it can be disabled; without rbac it still requires admin', async (t) => {
  const none = await buildSecuredApp(t, { options: { admin: false } })
  const admin = none.as('root', '*')
  await requireError(t, await none.ask('GET', '/admin/runs', admin), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
  const { ask, as } = await buildSecuredApp(t, { options: { rbac: undefined } as object })
  t.equal((await ask('GET', '/agents', as('ann'))).status, 200)
  for (const [method, path] of [
    ['GET', '/admin/runs'],
    ['DELETE', '/admin/runs'],
    ['DELETE', '/admin/agents/echo']
  ] as const)
    await requireError(t, await ask(method, path, as('ann', 'agents:*')), 403, 'HTTP_ERR_MISSING_SCOPE', path)
  t.equal((await ask('GET', '/admin/runs', as('ann', 'admin:*'))).status, 200)
})

t.test('rbac.defaultScopes accepts /admin/*', async (t) => {
  const defaultScopes = { '/admin/*': ['ops'], 'GET /admin/runs': ['audit'] }
  const app = await buildSecuredApp(t, { runnables: [echo], options: { rbac: { defaultScopes } } })
  const statusOf = async (method: string, path: string, ...scopes: string[]) =>
    (await app.ask(method, path, app.as('ann', ...scopes))).status
  for (const scopes of [[], ['agents:run']]) {
    const refused = await app.ask('DELETE', '/admin/runs', app.as('ann', ...scopes))
    t.match(await requireError(t, refused, 403, 'HTTP_ERR_MISSING_SCOPE'), { message: /"ops"/ })
  }
  t.equal(await statusOf('GET', '/admin/runs', 'ops'), 403)
  t.equal(await statusOf('GET', '/admin/runs', 'audit'), 200)
  t.equal(await statusOf('DELETE', '/admin/agents/echo', 'audit'), 403)
  t.equal(await statusOf('DELETE', '/admin/agents/echo', 'ops'), 204)
  t.equal(await statusOf('DELETE', '/admin/runs', 'admin:*'), 200)
})

t.test('all that belongs to a person is removed, work under way too', async (t) => {
  const planned = defineRunnable({ kind: 'agent', name: 'planned', resumable: true, run: () => 'x' })
  const app = await buildSecuredApp(t, { runnables: [echo, endless, planned] })
  const admin = app.as('root', 'admin:*')
  for (const sub of ['a/n n', 'bob']) for (const name of ['echo', 'endless']) await run(app, sub, name)
  await app.runs.schedules.create(
    planned,
    { cron: '0 9 1 1 *', input: 'x' },
    { principal: { sub: 'bob', scopes: [] } }
  )
  const left = async (sub: string) =>
    (await (await app.ask('GET', `/admin/runs?owner=${encodeURIComponent(sub)}`, admin)).json()) as AdminList
  const remove = async (sub: string) =>
    (await app.ask('DELETE', `/admin/subjects/${encodeURIComponent(sub)}`, admin)).json()
  t.match(await remove('a/n n'), { runs: 2, schedules: 0 })
  t.strictSame([(await left('a/n n')).runs.length, (await left('bob')).runs.length], [0, 2])
  t.match(await remove('bob'), { runs: 2, schedules: 1, tasks: 0 })
  t.strictSame(
    Object.values((await remove('bob')) as object),
    Array.from({ length: 8 }, () => 0)
  )
  t.same((await app.runs.schedules.list({ limit: 9 })).schedules, [])
})
