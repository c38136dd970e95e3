import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const rateLimit = { max: 3, timeWindow: 60_000 }
const code = 'HTTP_ERR_RATE_LIMITED'

t.test('by principal: one limit for all routes and addresses', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables: [echo], options: { rateLimit } })
  const [ann, bob] = [as('ann', '*'), as('bob', '*')]
  t.equal((await ask('GET', '/agents', ann)).headers.get('x-ratelimit-remaining'), '2')
  t.equal((await ask('GET', '/runs', ann)).status, 200)
  t.equal((await ask('POST', '/agents/echo/run', ann, { input: 'x' })).status, 200)
  for (const [method, path, body] of [
    ['GET', '/agents'],
    ['POST', '/agents/echo/run', { input: 'x' }],
    ['POST', '/agents/echo/stream', { input: 'x' }]
  ] as const) {
    const response = await ask(method, path, ann, body)
    const retryAfter = Number(response.headers.get('retry-after'))
    t.ok(Number.isInteger(retryAfter) && retryAfter > 0 && retryAfter <= 60, `Retry-After: ${retryAfter}`)
    t.equal(response.headers.get('x-ratelimit-remaining'), '0')
    await requireError(t, response, 429, code, path)
  }
  const newToken = as('ann', '*', 'more')
  t.equal((await ask('GET', '/agents', newToken)).status, 429, 'another token of the same principal')
  t.equal((await ask('GET', '/agents', bob)).status, 200)
})

t.test('by address without credentials', async (t) => {
  const { get, app } = await buildApp(t, { runnables: [echo], options: { rateLimit } })
  for (let i = 0; i < 3; i++)
    t.equal((await get('/agents', { 'x-forwarded-for': `10.0.0.${i}` })).status, 200)
  await requireError(t, await get('/agents', { 'x-forwarded-for': '10.0.0.9' }), 429, code)
  const other = await app.inject({ url: '/api/agents', remoteAddress: '10.1.1.1' })
  t.equal(other.statusCode, 200)
})

t.test('a principal cannot be an address', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { options: { rateLimit: { ...rateLimit, max: 1 } } })
  t.equal((await ask('GET', '/agents', as('ip 127.0.0.1', '*'))).status, 200)
  t.equal((await ask('GET', '/agents', as('127.0.0.1', '*'))).status, 200)
})

t.test('health is exempt; problem documents carry the same facts', async (t) => {
  const { get } = await buildApp(t, { options: { rateLimit: { ...rateLimit, max: 0 } } })
  for (let i = 0; i < 5; i++) {
    t.equal((await get('/livez')).status, 200)
    t.equal((await get('/readyz')).status, 200)
  }
  const response = await get('/agents', { accept: 'application/problem+json' })
  t.match(response.headers.get('content-type'), /^application\/problem\+json/)
  t.match(await response.json(), { status: 429, code, title: 'Too Many Requests' })
})

t.test('the app’s other routes are not limited', async (t) => {
  const { origin, get } = await buildApp(t, {
    options: { rateLimit: { ...rateLimit, max: 1 } },
    before: (app) => app.get('/host', () => 'x')
  })
  await get('/agents')
  t.equal((await get('/agents')).status, 429)
  for (let i = 0; i < 3; i++) t.equal((await fetch(`${origin}/host`)).status, 200)
})

t.test('options of the host apply', async (t) => {
  const options = { rateLimit: { ...rateLimit, max: 1, keyGenerator: () => 'all' } }
  const { ask, as } = await buildSecuredApp(t, { options })
  t.equal((await ask('GET', '/agents', as('ann', '*'))).status, 200)
  t.equal((await ask('GET', '/agents', as('bob', '*'))).status, 429)
})
