import { createFailingStores, createTestCluster, type TestNode } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const rateLimit = { max: 3, timeWindow: 60_000 }
const code = 'HTTP_ERR_RATE_LIMITED'
const HOUR = 3_600_000

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

/** Two nodes of a service, and a request for each. */
async function buildNodes(
  t: Test,
  options: object = {},
  nodes: readonly Pick<TestNode, 'stores'>[] = joinTwo()
) {
  const build = async ({ stores }: Pick<TestNode, 'stores'>) => {
    const { get } = await buildApp(t, {
      options: { rateLimit: { ...rateLimit, ...options } },
      engine: { stores }
    })
    return async () => (await get('/agents')).status
  }
  return [await build(nodes[0]!), await build(nodes[1]!)] as const
}

function joinTwo(): TestNode[] {
  const { join } = createTestCluster()
  return [join(), join()]
}

t.test('nodes on shared stores count together', async (t) => {
  const [first, second] = await buildNodes(t)
  t.same([await first(), await second(), await first()], [200, 200, 200])
  t.same([await second(), await first()], [429, 429])
  const [brief, other] = await buildNodes(t, { max: 1, timeWindow: 30 })
  while ((await brief()) !== 200 || (await other()) !== 429);
  while ((await other()) !== 200);
  t.pass('a new window begins for both')
})

t.test('requests beyond the limit extend the window where the options say so', async (t) => {
  for (const option of ['continueExceeding', 'exponentialBackoff']) {
    const { stores } = createTestCluster().join()
    const { get } = await buildApp(t, {
      options: { rateLimit: { max: 1, timeWindow: HOUR, [option]: true } },
      engine: { stores }
    })
    const resets: number[] = []
    for (let count = 0; count < 4; count++)
      resets.push(Number((await get('/agents')).headers.get('x-ratelimit-reset')) * 1_000)
    const hours = resets.map((reset) => Math.round(reset / HOUR))
    t.same(hours, option === 'continueExceeding' ? [1, 1, 1, 1] : [1, 1, 2, 4])
  }
})

t.test('while the counts fail or take too long, each node counts by itself', async (t) => {
  const [node, other] = joinTwo()
  const counters = createFailingStores({ ...node!.stores, lease: undefined } as never)
  const { counters: failing } = counters.stores
  const stores = { ...node!.stores, counters: failing! }
  const [first, second] = await buildNodes(t, {}, [{ stores }, other!])
  t.same([await first(), await second()], [200, 200])
  counters.fail(new Error('connection refused'))
  t.same([await first(), await first(), await first(), await first()], [200, 200, 200, 429])
  t.same([await second(), await second()], [200, 429])

  const hanging = { increment: () => new Promise<never>(() => {}) }
  const [slow] = await buildNodes(t, {}, [{ stores: { ...node!.stores, counters: hanging } }, other!])
  t.same([await slow(), await slow(), await slow(), await slow()], [200, 200, 200, 429])
})

t.test('a store of one’s own counts instead', async (t) => {
  let count = 0
  class Own {
    incr(_key: string, done: (err: null, result: { current: number; ttl: number }) => void) {
      done(null, { current: ++count, ttl: 1_000 })
    }
    child() {
      return this
    }
  }
  const [first, second] = await buildNodes(t, { store: Own })
  t.same([await first(), await second(), await first(), await second()], [200, 200, 200, 429])
  t.equal(count, 4)
})
