import { ROUTE_SCOPES, type ErrorBody } from '@svc/http'
import type { RunnableKind } from '@svc/registry'
import t, { type Test } from 'tap'
import { claims, createTokenMaker, encode, hmac, toToken, type TokenMaker } from '../auth/token-maker.ts'
import { echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { sendPath } from '../helpers/send-path.ts'
import { buildSecuredApp, type SecuredApp } from '../helpers/secured-app.ts'

const kinds: RunnableKind[] = ['agent', 'team', 'workflow']
const runnables = kinds.map((kind) => ({ ...echo, kind, name: `my-${kind}` }))
const own = (kind: RunnableKind) => ({ [`my-${kind}`]: [`mine:${kind}`], [`other-${kind}`]: ['other:use'] })
const rbac = { agentScopes: own('agent'), teamScopes: own('team'), workflowScopes: own('workflow') }
const options = { rbac, swagger: { protect: true } }

/** What comes to each route with good credentials; ids are unknown, so that nothing is changed. */
const admitted: Record<string, number> = {
  'GET /runs/:runId': 404,
  'GET /runs/:runId/stream': 404,
  'GET /runs/:runId/files/:fileId': 404,
  'POST /runs/:runId/cancel': 404,
  'GET /approvals/:approvalId': 404,
  'POST /approvals/:approvalId': 404,
  'GET /inputs': 200,
  'GET /inputs/:inputId': 404,
  'POST /inputs/:inputId': 404,
  'GET /sessions/:kind/:name/:sessionId': 404,
  'PATCH /sessions/:kind/:name/:sessionId': 404,
  'DELETE /sessions/:kind/:name/:sessionId': 404,
  'POST /sessions/:kind/:name/:sessionId/fork': 404,
  'POST /sessions/:kind/:name/:sessionId/compact': 404,
  'GET /sessions/:kind/:name/:sessionId/stream': 404,
  'GET /schedules/:scheduleId': 404,
  'POST /schedules': 404,
  'PATCH /schedules/:scheduleId': 404,
  'DELETE /schedules/:scheduleId': 404,
  'GET /webhooks/:webhookId': 404,
  'POST /webhooks': 400,
  'POST /webhooks/deliveries/:deliveryId/retry': 404,
  'PATCH /webhooks/:webhookId': 404,
  'DELETE /webhooks/:webhookId': 404,
  'DELETE /admin/agents/:name': 404,
  'DELETE /admin/teams/:name': 404,
  'DELETE /admin/workflows/:name': 404
}
const open = ['GET /livez', 'GET /readyz']
const docs = ['GET /docs', 'GET /docs/', 'GET /docs/*', 'GET /docs/json', 'GET /docs/yaml']
const docsFiles = [
  'GET /docs/spec.json',
  'GET /docs/static/index.html',
  'GET /docs/static/swagger-initializer.js'
]

// What a request changes, by the first word of its path.
const CHANGES: Record<string, object> = {
  schedules: { enabled: false },
  sessions: { title: 'x' },
  webhooks: { events: ['run.failed'] }
}

// What a request creates, unless it starts a run.
const CREATED: Record<string, object> = {
  '/schedules': { kind: 'agent', name: 'none', cron: '0 9 * * *', input: 'hi' },
  '/sessions/:kind/:name/:sessionId/fork': {}
}

interface Route {
  key: string
  method: string
  path: string
  body?: object
  /** All that it asks for, those of its runnable included. */
  scopes: string[]
}

const routes: Route[] = Object.entries(ROUTE_SCOPES).map(([key, scopes]) => {
  const [method = '', pattern = ''] = key.split(' ')
  const [, kind = ''] = /\/(agent|team|workflow)s/.exec(pattern) ?? []
  const isNamed = pattern.includes(':name')
  const isAdmin = pattern.startsWith('/admin')
  const path = pattern
    .replace(':name', isAdmin ? 'none' : `my-${kind}`)
    .replace(/:(runId|approvalId|inputId|scheduleId|webhookId|deliveryId|sessionId|sub)/, 'none')
    .replace(':kind', 'agent')
  const answer = pattern.includes(':inputId') ? { action: 'decline' } : { approved: true }
  const body = /:(?:approval|input)Id/.test(pattern) ? answer : { input: 'hi' }
  return {
    key,
    method,
    path,
    ...(method === 'POST' && { body: CREATED[pattern] ?? body }),
    ...(method === 'PATCH' && { body: CHANGES[path.split('/')[1]!] }),
    scopes: [
      ...scopes,
      ...(kind !== '' && isNamed && !isAdmin ? [`mine:${kind}`] : []),
      // Of the runnable that is scheduled.
      ...(key === 'POST /schedules' ? ['agents:run'] : [])
    ]
  }
})

/** Of every kind that a bad token can be. */
function badTokens(maker: TokenMaker): Record<string, string> {
  const good = maker.sign(claims({ scopes: ['*'] }))
  const [head = '', body = '', signature = ''] = good.split('.')
  const past = Math.floor(Date.now() / 1000) - 1
  const forged = claims({ sub: 'eve', scopes: ['*'] })
  return {
    empty: '',
    'a word': 'token',
    'two words': `${good} ${good}`,
    'two parts': `${head}.${body}`,
    'no signature': `${head}.${body}.`,
    'a cut signature': good.slice(0, -4),
    'another payload': `${head}.${encode(forged)}.${signature}`,
    'another key': createTokenMaker('HS256').sign(forged),
    'alg none': `${encode({ alg: 'none' })}.${encode(forged)}.`,
    'another algorithm': toToken({ alg: 'HS512' }, forged, hmac(maker.secret, 'sha512')),
    expired: maker.sign(claims({ exp: past })),
    'not yet valid': maker.sign(claims({ nbf: past + 60 })),
    'without exp': maker.sign({ sub: 'ann', scopes: ['*'] }),
    'without sub': maker.sign(claims({ sub: undefined })),
    'scopes of another type': maker.sign(claims({ scopes: { '*': true } })),
    'no JSON': maker.sign('payload'),
    'an unknown crit': maker.sign(claims(), { crit: ['x'] })
  }
}

const send = ({ ask }: SecuredApp, { method, path, body }: Route, headers: Record<string, string> = {}) =>
  ask(method, path, headers, body)

async function requireUnknown(t: Test, response: Response, says: string): Promise<void> {
  await requireError(t, response, 401, 'HTTP_ERR_NO_TOKEN', says)
  t.equal(response.headers.get('www-authenticate'), 'Bearer', says)
}

async function requireRefused(t: Test, response: Response, scope: string, says: string): Promise<void> {
  const { message } = await requireError(t, response, 403, 'HTTP_ERR_MISSING_SCOPE', says)
  t.match(message, `"${scope}"`)
  t.equal(
    response.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="${scope}"`,
    says
  )
}

async function requireAdmitted(t: Test, response: Response, { key }: Route, says: string): Promise<void> {
  t.equal(response.status, admitted[key] ?? 200, `${key}, ${says}: ${await response.text()}`)
}

t.test('every route is in the table', async (t) => {
  const found = new Set<string>()
  await buildSecuredApp(t, {
    options: { swagger: true },
    before: (app) =>
      app.addHook('onRoute', ({ method, url }) => {
        for (const each of [method].flat())
          found.add(`${each.replace('HEAD', 'GET')} ${url.replace('/api', '')}`)
      })
  })
  for (const each of found) if (each.startsWith('GET /docs/static')) found.delete(each)
  const known = [...Object.keys(ROUTE_SCOPES), ...open, ...docs, 'GET /docs/spec.json']
  t.strictSame(
    [...found].filter((each) => !known.includes(each)),
    []
  )
  t.strictSame(
    [...Object.keys(ROUTE_SCOPES), ...open].filter((each) => !found.has(each)),
    []
  )
})

t.test('no token, and every kind of bad token', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  for (const route of routes) {
    await requireUnknown(t, await send(app, route), route.key)
    await requireUnknown(t, await send(app, route, { authorization: 'Basic YTpi' }), `${route.key}, Basic`)
    for (const [says, token] of Object.entries(badTokens(app.maker))) {
      const response = await send(app, route, { authorization: `Bearer ${token}` })
      const body = await requireError(t, response, 401, 'HTTP_ERR_INVALID_TOKEN', `${route.key}, ${says}`)
      t.equal(response.headers.get('www-authenticate'), 'Bearer error="invalid_token"', says)
      t.equal(body.message, 'The token is not valid', 'whatever the reason')
    }
  }
})

t.test('scopes', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  for (const route of routes) {
    const { scopes } = route
    const [first] = scopes
    const none = await send(app, route, app.as('ann'))
    if (first === undefined) await requireAdmitted(t, none, route, 'no scope')
    else await requireRefused(t, none, first, `${route.key}, no scope`)

    for (const missing of scopes) {
      const others = scopes.filter((scope) => scope !== missing)
      const near = [
        `${missing}x`,
        missing.toUpperCase(),
        missing.split(':')[0]!,
        'other:use',
        'x:*',
        ':*',
        '**'
      ]
      const held = missing === 'admin:*' ? near.filter((scope) => scope !== 'ADMIN:*') : near
      await requireRefused(t, await send(app, route, app.as('ann', ...others, ...held)), missing, route.key)
    }
    const wild = scopes.map((scope) => `${scope.split(':')[0]}:*`)
    const ways: [says: string, held: string[]][] = [
      ['own scope', scopes],
      ['segment wildcard', wild],
      ['*', ['*']],
      ['admin:*', ['admin:*']]
    ]
    for (const [says, held] of ways)
      await requireAdmitted(t, await send(app, route, app.as('ann', ...held)), route, says)
  }
})

t.test('the scope of one runnable does not open another', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  const caller = app.as('ann', 'agents:*', 'other:use')
  const response = await app.ask('POST', '/agents/my-agent/run', caller, { input: 'hi' })
  await requireRefused(t, response, 'mine:agent', 'another agent’s scope')
  const unknown = await app.ask('POST', '/agents/other-agent/run', app.as('ann', 'agents:*'), { input: 'hi' })
  await requireRefused(t, unknown, 'other:use', 'one that is not there')
})

t.test('HEAD follows the rule of GET', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    const head = { ...route, method: 'HEAD' }
    t.equal((await send(app, head)).status, 401, route.key)
    const [first] = route.scopes
    if (first !== undefined) t.equal((await send(app, head, app.as('ann'))).status, 403, route.key)
    const { status } = await send(app, head, app.as('ann', '*'))
    t.equal(status, admitted[route.key] ?? 200, route.key)
  }
})

t.test('tokens in the query, a form or another header are ignored', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  const token = app.maker.sign(claims({ scopes: ['*'] }))
  for (const route of routes) {
    const path = `${route.path}?access_token=${token}&token=${token}&authorization=Bearer%20${token}`
    await requireUnknown(t, await send(app, { ...route, path }), route.key)
    const headers = {
      'x-access-token': token,
      'proxy-authorization': `Bearer ${token}`,
      cookie: `token=${token}`
    }
    await requireUnknown(t, await send(app, route, headers), route.key)
  }
})

t.test('every spelling of a path is guarded or not found', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  for (const route of routes) {
    for (const path of spellingsOf(route.path)) {
      const { status, body } = await sendPath(app.origin, { ...route, path: `/api${path}` })
      const { code } = JSON.parse(body) as ErrorBody
      const isFine =
        status === 401 || (status === 404 && code === 'HTTP_ERR_ROUTE_NOT_FOUND') || status === 400
      t.ok(isFine, `${route.method} ${path}: ${status} ${code}`)
    }
  }
  const encoded = await app.ask('POST', '/%61gents/my%2Dagent/run', app.as('ann', 'agents:run'), {
    input: 'x'
  })
  await requireRefused(t, encoded, 'mine:agent', 'the decoded name decides')
  const good = app.as('ann', 'agents:run', 'mine:agent')
  const response = await app.ask('POST', '/%61gents/m%79-agent/%72un', good, { input: 'x' })
  t.equal(response.status, 200, 'and another spelling of the same is the same')
})

/** Other ways to write a path, to get past a guard that compares texts. */
function spellingsOf(path: string): string[] {
  const [, first = '', ...rest] = path.split('/')
  const tail = rest.map((each) => `/${each}`).join('')
  const escape = (text: string) => text.replace(/[a-z]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)
  return [
    `/${escape(first)}${tail}`,
    `/${escape(first).toUpperCase()}${tail}`,
    `/%25${first.charCodeAt(0).toString(16)}${first.slice(1)}${tail}`,
    path.toUpperCase(),
    `/${first[0]!.toUpperCase()}${first.slice(1)}${tail}`,
    `${path}/`,
    `${path}//`,
    `/${path}`,
    `//${first}/${tail}`,
    `/./${first}${tail}`,
    `/livez/..${path}`,
    `/livez/..%2f${path.slice(1)}`,
    `/livez%2f..${path}`,
    `/%2e%2e/api${path}`,
    `${path};x=1`,
    `/${first};x=1${tail}`,
    `${path}%00`,
    `${path}%20`,
    `${path}%09`,
    `${path}?`,
    `${path}#/livez`,
    `${path}?/livez`,
    `/\\${first}${tail}`,
    `${path}.json`,
    `/${first}%2f${tail.slice(1)}`
  ]
}

t.test('open routes stay open, whatever the credentials', async (t) => {
  const app = await buildSecuredApp(t, { runnables, options })
  for (const path of ['/livez', '/readyz']) {
    t.equal((await app.ask('GET', path)).status, 200)
    t.equal((await app.ask('GET', path, { authorization: 'Bearer x' })).status, 200)
  }
  await requireError(t, await app.ask('GET', '/none'), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
})

t.test('the document and its page: open, or for any valid token', async (t) => {
  const guarded = await buildSecuredApp(t, { runnables, options })
  const unguarded = await buildSecuredApp(t, { runnables, options: { swagger: true } })
  for (const key of [...docs.filter((each) => !each.endsWith('*')), ...docsFiles]) {
    const path = key.slice(4)
    const { status } = await unguarded.ask('GET', path)
    t.ok(status < 400 || (status === 404 && path === '/docs/yaml'), `${path} is open: ${status}`)
    t.equal((await guarded.ask('GET', path)).status, 401, `${path} is protected`)
    t.equal((await guarded.ask('HEAD', path)).status, 401)
    t.equal((await guarded.ask('GET', path, guarded.as('ann'))).status, status)
  }
})
