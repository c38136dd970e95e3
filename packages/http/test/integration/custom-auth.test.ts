import type { HttpOptions } from '@svc/http'
import type { Authenticate, Authorize, Principal } from '@svc/registry'
import t, { type Test } from 'tap'
import { asking, startAsking } from '../helpers/asking.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

const ann: Principal = { sub: 'ann', scopes: ['agents:run'], claims: {} }
const away = () => Object.assign(new Error('the database of secrets is away'), { statusCode: 503 })

/** Asks an app with these functions; what they throw may be anything. */
async function build(t: Test, options: { authenticate?: unknown; authorize?: unknown; rbac?: object }) {
  const app = await buildApp(t, { runnables: [echo, asking()], options: options as HttpOptions })
  const ask = (method: string, path: string, headers: Record<string, string> = {}, body?: unknown) =>
    fetch(app.url + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
  return { ...app, ask, run: (headers = {}) => ask('POST', '/agents/echo/run', headers, { input: 'x' }) }
}

const known: Authenticate = ({ headers }) => (headers['x-user'] === 'ann' ? ann : null)
const asAnn = { 'x-user': 'ann' }

for (const [says, authenticate] of [
  ['sync', known],
  ['async', async (credentials: Parameters<Authenticate>[0]) => known(credentials)]
] as const) {
  t.test(`authenticate, ${says}`, async (t) => {
    const { run, ask } = await build(t, { authenticate, rbac: {} })
    t.equal((await run(asAnn)).status, 200)
    await requireError(t, await run(), 401, 'HTTP_ERR_NO_TOKEN')
    await requireError(t, await ask('GET', '/agents', asAnn), 403, 'HTTP_ERR_MISSING_SCOPE')
    t.equal((await ask('GET', '/livez')).status, 200)
  })
}

t.test('authenticate that throws', async (t) => {
  const thrown: [what: unknown, statusCode: number, code: string][] = [
    [new Error('secret'), 401, 'HTTP_ERR_INVALID_TOKEN'],
    ['secret', 401, 'HTTP_ERR_INVALID_TOKEN'],
    [undefined, 401, 'HTTP_ERR_INVALID_TOKEN'],
    [null, 401, 'HTTP_ERR_INVALID_TOKEN'],
    [Object.assign(new Error('secret'), { statusCode: 403 }), 401, 'HTTP_ERR_INVALID_TOKEN'],
    [Object.assign(new Error('secret'), { statusCode: 200 }), 401, 'HTTP_ERR_INVALID_TOKEN'],
    [away(), 503, 'HTTP_ERR_INTERNAL']
  ]
  for (const [what, statusCode, code] of thrown) {
    for (const authenticate of [
      () => {
        throw what
      },
      () => Promise.reject(what as Error)
    ]) {
      const { run } = await build(t, { authenticate })
      const response = await run(asAnn)
      if (statusCode === 401)
        t.equal(response.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
      else t.equal(response.headers.get('retry-after'), '5')
      const { message } = await requireError(t, response, statusCode, code)
      t.notMatch(message, /secret/)
    }
  }
})

t.test('an authenticate without a principal admits no one', async (t) => {
  const bad: unknown[] = [
    undefined,
    true,
    'ann',
    {},
    { sub: '' },
    { sub: 5, scopes: [] },
    { sub: 'a' },
    { sub: 'a', scopes: 'x' },
    { sub: 'a', scopes: [1] }
  ]
  for (const [index, principal] of bad.entries()) {
    for (const authenticate of [() => principal, async () => principal]) {
      const { run } = await build(t, { authenticate })
      const { status } = await run(asAnn)
      t.ok(status === 401 || status === 500, `${index}: ${status}`)
    }
  }
})

t.test('authorize decides by name', async (t) => {
  const asked: Parameters<Authorize>[] = []
  const authorize: Authorize = async (...args) => {
    asked.push(args)
    const [, action, { name }] = args
    if (name === 'asking') return { allowed: action !== 'read' }
    return action === 'run' ? { allowed: false, missing: 'more:run' } : { allowed: false }
  }
  const { run, ask } = await build(t, { authenticate: known, authorize })
  const refused = await run(asAnn)
  t.equal(refused.headers.get('www-authenticate'), 'Bearer error="insufficient_scope", scope="more:run"')
  t.match(await requireError(t, refused, 403, 'HTTP_ERR_MISSING_SCOPE'), { message: /"more:run"/ })
  await requireError(t, await ask('GET', '/agents/echo', asAnn), 403, 'HTTP_ERR_FORBIDDEN')
  t.strictSame(await (await ask('GET', '/agents', asAnn)).json(), [], 'a list shows what may be read')
  t.match(await (await ask('GET', '/registry', asAnn)).json(), { agents: [] })
  t.match(asked[0], [ann, 'run', { kind: 'agent', name: 'echo' }])
})

const noAllow: [says: string, authorize: unknown][] = [
  [
    'throws',
    () => {
      throw new Error('secret')
    }
  ],
  [
    'rejects',
    async () => {
      throw new Error('secret')
    }
  ],
  [
    'throws nothing',
    () => {
      // oxlint-disable-next-line only-throw-error -- a policy in JavaScript may
      throw undefined
    }
  ],
  [
    'throws an allow',
    () => {
      // oxlint-disable-next-line only-throw-error -- as above
      throw { allowed: true }
    }
  ],
  [
    'throws with a status of success',
    () => {
      throw Object.assign(new Error('secret'), { statusCode: 200 })
    }
  ],
  [
    'is away',
    async () => {
      throw away()
    }
  ],
  ['gives nothing', () => undefined],
  ['gives null', async () => null],
  ['gives true', () => true],
  ['gives a text', () => ({ allowed: 'false' })],
  ['gives a number', () => ({ allowed: 1 })]
]
for (const [says, authorize] of noAllow) {
  t.test(`authorize that ${says} allows nothing`, async (t) => {
    let ran = 0
    const app = await build(t, { authenticate: known, authorize })
    app.registry.add({ kind: 'agent', name: 'counts', run: () => `${++ran}` })
    for (const [method, path, body] of [
      ['POST', '/agents/counts/run', { input: 'x' }],
      ['POST', '/agents/counts/stream', { input: 'x' }],
      ['GET', '/agents/counts'],
      ['DELETE', '/admin/agents/counts']
    ] as const) {
      const response = await app.ask(method, path, asAnn, body)
      t.ok([403, 500, 503].includes(response.status), `${path}: ${response.status}`)
      t.notMatch(await response.text(), /secret/)
    }
    const { status } = await app.ask('GET', '/agents', asAnn)
    const text = await (await app.ask('GET', '/registry', asAnn)).text()
    t.ok(status >= 403 || !text.includes('counts'), 'and lists nothing')
    t.equal(ran, 0)
    t.ok(app.registry.get('agent', 'counts'))
  })
}

t.test('an authorize that fails hides approvals', async (t) => {
  let fails = false
  const authorize: Authorize = () => {
    if (fails) throw new Error('secret')
    return { allowed: true }
  }
  const app = await build(t, { authenticate: known, authorize })
  const { approvalId } = await startAsking(app, asAnn)
  fails = true
  const answer = await app.ask('POST', `/approvals/${approvalId}`, asAnn, { approved: true })
  t.ok(answer.status >= 400)
  t.ok((await app.ask('GET', '/approvals', asAnn)).status >= 400)
  fails = false
  t.match(await (await app.ask('GET', '/approvals', asAnn)).json(), { approvals: [{ approvalId }] })
})

t.test('an authorize that allows everything does not reach another’s', async (t) => {
  const authenticate: Authenticate = ({ headers }) => ({ sub: String(headers['x-user']), scopes: [] })
  const app = await build(t, { authenticate, authorize: () => ({ allowed: true }) })
  const { runId, approvalId } = await startAsking(app, asAnn)
  const bob = { 'x-user': 'bob' }
  const answer = await app.ask('POST', `/approvals/${approvalId}`, bob, { approved: true })
  await requireError(t, answer, 404, 'RUN_ERR_INPUT_NOT_FOUND')
  t.strictSame(await (await app.ask('GET', '/approvals', bob)).json(), { approvals: [], nextCursor: null })
  await requireError(t, await app.ask('GET', `/runs/${runId}`, bob), 404, 'RUN_ERR_NOT_FOUND')
  await requireError(t, await app.ask('GET', '/admin/runs', bob), 403, 'HTTP_ERR_MISSING_SCOPE')
})

t.test('conflicting options are an error at start', async (t) => {
  const both: [options: object, says: RegExp][] = [
    [{ authenticate: known, jwt: { secret: 'x'.repeat(32) } }, /authenticate/],
    [{ authenticate: known, authorize: () => ({ allowed: true }), rbac: {} }, /authorize/],
    [{ rbac: {} }, /rbac/]
  ]
  for (const [options, message] of both)
    await t.rejects(build(t, options), { code: 'HTTP_ERR_BAD_OPTION', message })
})
