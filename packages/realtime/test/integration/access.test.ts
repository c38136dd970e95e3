import { setTimeout as pause } from 'node:timers/promises'
import type { Authenticate, Principal } from '@svc/registry'
import t from 'tap'
import { buildRealtime } from '../helpers/build-realtime.ts'
import { createDesk } from '../helpers/desk-voice.ts'

/** Tokens are names; `late-…` takes long, `stuck` never ends. */
const authenticate: Authenticate = async ({ token, cookies }): Promise<Principal | null> => {
  const name = token ?? cookies['name']
  if (name === undefined) return null
  if (name.startsWith('late-')) await pause(600)
  if (name === 'stuck') await new Promise(() => {})
  if (name.endsWith('bad')) throw new Error('no such token')
  const exp = name === 'brief' ? { exp: (Date.now() + 400) / 1_000 } : {}
  return { sub: name, scopes: name === 'guest' ? [] : ['agents:run'], ...exp }
}
const options = {
  authenticate,
  authorize: ({ scopes }: Principal) =>
    scopes.includes('agents:run')
      ? { allowed: true as const }
      : { allowed: false as const, missing: 'agents:run' }
}
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const page = (token: string) => ({ protocols: ['realtime', `openai-insecure-api-key.${token}`] })

t.test('the token: in a header, in a subprotocol, never in the query', async (t) => {
  const { open, call, runs } = await buildRealtime(t, { runnables: [createDesk().voice], options })
  for (const place of [bearer('ann'), page('ann')]) {
    const client = call('?model=desk', place)
    const { conversation } = await client.next('conversation.created')
    t.match(await runs.get(conversation.id), { owner: 'ann' })
  }
  const { refusal } = open('?model=desk&token=ann')
  t.match(await refusal, {
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
    body: { error: { code: 'RT_ERR_NO_TOKEN' } }
  })
})

t.test('a client that is not admitted in time is refused, whatever authenticate does', async (t) => {
  const { open } = await buildRealtime(t, {
    runnables: [createDesk().voice],
    options: { ...options, handshakeTimeout: 100 }
  })
  const code = 'RT_ERR_HANDSHAKE_TIMEOUT'
  t.match(await open('?model=desk', bearer('stuck')).refusal, { status: 503, body: { error: { code } } })
  const client = open('?model=desk', page('stuck'))
  t.match(await client.next('error'), { error: { code, message: /within 100 ms/ } })
  t.match(await client.closed, { code: 1013, reason: code })
  t.ok(await open('?model=desk', bearer('ann')).next('session.created'))
})

t.test('refusals: by status, or where a client cannot see that, by event and close code', async (t) => {
  const { open } = await buildRealtime(t, { runnables: [createDesk().voice], options })
  const cases: [token: string, status: number, code: string, close: number][] = [
    ['bad', 401, 'RT_ERR_INVALID_TOKEN', 3000],
    ['guest', 403, 'RT_ERR_MISSING_SCOPE', 3003]
  ]
  for (const [token, status, code, close] of cases) {
    t.match(await open('?model=desk', bearer(token)).refusal, { status, body: { error: { code } } })
    const client = open('?model=desk', page(token))
    t.match(await client.next('error'), { error: { code } })
    t.match(await client.closed, { code: close, reason: code })
  }
  const late = open('?model=desk', bearer('late-bad'))
  t.match(await late.next('error'), { error: { code: 'RT_ERR_INVALID_TOKEN' } })
  t.match(await late.closed, { code: 3000 })
  const slow = open('?model=desk', bearer('late-ann'))
  slow.send({ type: 'session.update', session: { instructions: 'Brief' } })
  t.match(await slow.next('session.updated'), { session: { instructions: 'Brief' } })
})

t.test('cookies count on the own page only', async (t) => {
  const { open, host } = await buildRealtime(t, { runnables: [createDesk().voice], options })
  const cookie = 'name=ann'
  await open('?model=desk', { headers: { cookie, origin: `http://${host}` } }).next('session.created')
  const foreign = open('?model=desk', { headers: { cookie, origin: 'https://evil.example' } })
  t.match(await foreign.refusal, { status: 403, body: { error: { code: 'RT_ERR_CROSS_ORIGIN' } } })
})

t.test('a token that expires in the middle of a call; another one continues it', async (t) => {
  const { open, runs } = await buildRealtime(t, { runnables: [createDesk().voice], options })
  const client = open('?model=desk', bearer('brief'))
  client.send({ type: 'session.update', session: { instructions: 'Brief' } })
  const { conversation } = await client.next('conversation.created')
  t.match(await client.next('error'), { error: { code: 'RT_ERR_TOKEN_EXPIRED' } })
  t.match(await client.closed, { code: 3000, reason: 'RT_ERR_TOKEN_EXPIRED' })
  const again = open(`?call=${conversation.id}`, bearer('brief'))
  t.match(await again.next('conversation.created'), { conversation })
  t.match(await runs.get(conversation.id), { status: 'working' })
})

t.test('calls of others look like ones that do not exist', async (t) => {
  const { open, call } = await buildRealtime(t, { runnables: [createDesk().voice], options })
  const { conversation } = await call('?model=desk', bearer('ann')).next('conversation.created')
  const other = open(`?call=${conversation.id}`, bearer('bob'))
  t.match(await other.next('error'), { error: { code: 'RUN_ERR_NOT_FOUND' } })
  t.strictSame(other.events.length, 1)
})

t.test('client secrets', async (t) => {
  const desk = createDesk()
  const secret = 'a secret that is long enough to be one'
  const other = createDesk('other')
  const service = { runnables: [desk.voice, other.voice], options: { ...options, secret } }
  const { app, open, call, runs } = await buildRealtime(t, service)
  const ask = (token: string | undefined, payload: object | string) =>
    app.inject({
      method: 'POST',
      url: '/v1/realtime/client_secrets',
      headers: { ...(token !== undefined && bearer(token).headers), 'content-type': 'application/json' },
      payload
    })
  const tools = [{ type: 'function', name: 'clock', parameters: { type: 'object' } }]
  const session = { type: 'realtime', model: 'desk', instructions: 'The caller is Ann.', tools }

  await t.test('stand for their caller, the agent and the session', async (t) => {
    const before = Math.floor(Date.now() / 1_000)
    const response = await ask('ann', { session })
    t.equal(response.statusCode, 200)
    const { value, expires_at: expiresAt, session: shown } = response.json()
    t.match(shown, { object: 'realtime.session', model: 'desk', instructions: 'The caller is Ann.', tools })
    t.ok(expiresAt >= before + 600 && expiresAt <= before + 601)
    t.match(value, /^ek_[\w.-]+$/)
    t.notMatch(Buffer.from(value.split('.').join(''), 'base64').toString(), /Ann/)
    const client = call('', page(value))
    t.match(await client.next('session.created'), { session: { instructions: 'The caller is Ann.' } })
    const { conversation } = await client.next('conversation.created')
    t.match(await runs.get(conversation.id), { owner: 'ann', name: 'desk' })
    t.match(desk.links.at(-1)?.settings, { instructions: 'The caller is Ann.', tools: [{ name: 'clock' }] })

    t.match(await open('?model=other', bearer(value)).refusal, {
      status: 403,
      body: { error: { code: 'RT_ERR_OTHER_MODEL', message: /"desk"/ } }
    })
    const another = await buildRealtime(t, service)
    await another.open('?model=desk', bearer(value)).next('session.created')
    const foreign = await buildRealtime(t, { ...service, options })
    t.match(await foreign.open('', bearer(value)).refusal, { status: 401 })
  })

  await t.test('are for one session, one user and one call', async (t) => {
    const secretOf = async (fields: object = {}) =>
      page((await ask('ann', { session, ...fields })).json().value)
    const bound = await secretOf({ sessionId: 's1', userId: 'ann' })
    for (const query of ['', '?sessionId=s1', '?userId=ann&sessionId=s1']) {
      const { conversation } = await call(query, bound).next('conversation.created')
      t.match(await runs.get(conversation.id), { owner: 'ann', sessionId: 's1' }, query)
    }
    const free = await secretOf()
    for (const [query, at] of [
      ['?sessionId=s2', bound],
      ['?userId=bob', bound],
      ['?sessionId=s1', free],
      ['?userId=ann', free]
    ] as const) {
      const client = open(query, at)
      t.match(await client.next('error'), { error: { code: 'RT_ERR_OTHER_SESSION' } }, query)
      t.match(await client.closed, { code: 3003 })
    }
    t.match((await ask('ann', { session, userId: 'bob' })).json(), { error: { code: 'RT_ERR_FOREIGN_USER' } })

    const begun = call('', bound)
    const { conversation } = await begun.next('conversation.created')
    for (const other of [free, await secretOf({ sessionId: 's1', userId: 'ann' })]) {
      const thief = open(`?call=${conversation.id}`, other)
      t.match(await thief.next('error'), { error: { code: 'RUN_ERR_NOT_FOUND' } })
    }
    t.equal(begun.ws.readyState, begun.ws.OPEN, 'the call stays with its client')
    const own = call('?model=desk', bearer('ann'))
    const { conversation: ofServer } = await own.next('conversation.created')
    t.match(await open(`?call=${ofServer.id}`, free).next('error'), { error: { code: 'RUN_ERR_NOT_FOUND' } })
    // The secret that began it, another that was made for this call, and its maker.
    const renewed = await secretOf({ call: conversation.id })
    for (const [query, at] of [
      [`?call=${conversation.id}`, bound],
      ['', renewed],
      [`?call=${conversation.id}`, renewed],
      [`?call=${conversation.id}`, bearer('ann')]
    ] as const)
      t.match(await open(query, at).next('conversation.created'), { conversation })
    const another = open(`?call=${ofServer.id}`, renewed)
    t.match(await another.next('error'), { error: { code: 'RT_ERR_OTHER_SESSION' } })
  })

  await t.test('expire, and begin no other secrets', async (t) => {
    const response = await ask('ann', { session, expires_after: { anchor: 'created_at', seconds: 10 } })
    const { value, expires_at: expiresAt } = response.json()
    t.ok(expiresAt <= Math.floor(Date.now() / 1_000) + 11)
    t.match((await ask(value, { session })).json(), { error: { code: 'RT_ERR_INVALID_TOKEN' } })
    const { expires_at: brief } = (await ask('brief', { session })).json()
    t.ok(brief <= Date.now() / 1_000 + 1)
    for (const broken of [value.slice(0, -2), `${value}x`, 'ek_', 'ek_a.b.c.d.e'])
      t.match(await open('', bearer(broken)).refusal, {
        status: 401,
        body: { error: { code: 'RT_ERR_INVALID_TOKEN' } }
      })
  })

  await t.test('bad requests', async (t) => {
    const cases: [string | undefined, object | string, number, string][] = [
      [undefined, { session }, 401, 'RT_ERR_NO_TOKEN'],
      ['bad', '{', 401, 'RT_ERR_INVALID_TOKEN'],
      ['ann', '{', 400, 'RT_ERR_BAD_JSON'],
      ['ann', {}, 400, 'RT_ERR_BAD_REQUEST'],
      ['ann', { session: {} }, 400, 'RT_ERR_NO_MODEL'],
      ['ann', { session, expires_after: { seconds: 5 } }, 400, 'RT_ERR_BAD_REQUEST'],
      ['ann', { session: { ...session, colour: 'red' } }, 400, 'RT_ERR_BAD_REQUEST'],
      ['ann', { session: { ...session, model: 'none' } }, 404, 'RT_ERR_UNKNOWN_RUNNABLE'],
      ['guest', { session }, 403, 'RT_ERR_MISSING_SCOPE'],
      ['ann', { session: { ...session, tool_choice: 'required' } }, 400, 'unsupported_value'],
      ['ann', { session: { ...session, instructions: 'x'.repeat(10_000) } }, 400, 'RT_ERR_SECRET_TOO_LARGE']
    ]
    for (const [token, payload, status, code] of cases) {
      const response = await ask(token, payload)
      t.match([response.statusCode, response.json()], [status, { error: { code, message: String } }], code)
    }
    const plain = await app.inject({
      method: 'POST',
      url: '/v1/realtime/client_secrets',
      headers: { ...bearer('ann').headers, 'content-type': 'text/plain' },
      payload: 'x'
    })
    t.match([plain.statusCode, plain.json()], [415, { error: { code: 'RT_ERR_UNSUPPORTED_MEDIA_TYPE' } }])
    const long = await ask('ann', { session: { ...session, instructions: 'x'.repeat(2_000_000) } })
    t.match([long.statusCode, long.json()], [413, { error: { code: 'RT_ERR_BODY_TOO_LARGE' } }])
  })
})
