import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp } from '../helpers/build-app.ts'

const asked = { input: 'x', onDisconnect: 'continue' }

/** Callers are named by their token. */
const authenticate = async ({ token = 'none' }: { token?: string }) => ({ sub: token, scopes: ['*'] })
const as = (token: string, more: Record<string, string> = {}) => ({
  authorization: `Bearer ${token}`,
  ...more
})

t.test('starts over a limit are refused before their bodies are read', async (t) => {
  const runnable = scriptedRunnable([60_000])
  const { post, runs } = await buildApp(t, {
    runnables: [runnable],
    options: { authenticate },
    engine: { limits: { maxRunsPerOwner: 2 } }
  })
  const path = `/${runnable.kind}s/${runnable.name}/run`
  const background = { prefer: 'respond-async' }
  const first = await post(path, asked, as('ada', { ...background, 'idempotency-key': 'k' }))
  t.equal(first.status, 202)
  t.equal((await post(path, asked, as('ada', background))).status, 202)

  const refused = await post(path, '{ no JSON', as('ada', background))
  t.equal(refused.status, 429, 'the body is not parsed')
  t.match(await refused.json(), { code: 'RUN_ERR_TOO_MANY_RUNS' })
  t.ok(refused.headers.get('retry-after'))
  t.not(refused.headers.get('connection'), 'close')
  t.equal((await post(path, '{ no JSON', as('bob', background))).status, 400, 'others are not refused')

  const repeated = await post(path, asked, as('ada', { ...background, 'idempotency-key': 'k' }))
  t.equal(repeated.status, 202, 'a start that was accepted is repeated at the limit')
  t.equal(repeated.headers.get('x-run-id'), first.headers.get('x-run-id'))
  t.equal(repeated.headers.get('idempotency-replayed'), 'true')
  const unknown = await post(path, asked, as('ada', { ...background, 'idempotency-key': 'other' }))
  t.equal(unknown.status, 429)

  const flood: Response[] = []
  const isClosed = () => flood.some(({ headers }) => headers.get('connection') === 'close')
  for (let rounds = 0; rounds < 20 && !isClosed(); rounds++)
    flood.push(...(await Promise.all(Array.from({ length: 30 }, () => post(path, '{ no JSON', as('ada'))))))
  t.same(new Set(flood.map(({ status }) => status)), new Set([429]))
  t.ok(isClosed(), 'the connections of a flood are closed')
  const during = await post(path, asked, as('ada', { ...background, 'idempotency-key': 'k' }))
  t.equal(during.status, 202, 'also during a flood')
  t.equal((await post(path, asked, as('bob', background))).status, 202)
  t.equal(runs.active, 3)
})
