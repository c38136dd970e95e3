import type { ServerResponse } from 'node:http'
import type { KeySetSettings } from '@svc/surface'
import t, { type Test } from 'tap'
import { createRemoteKey, type JwtAlgorithm } from '../../src/auth/jwt-key.ts'
import { serveKeys, toJwk } from '../helpers/key-server.ts'
import { buildAuthenticate, claims, createTokenMaker, type TokenMaker } from './token-maker.ts'

const UNAVAILABLE = { code: 'HTTP_ERR_KEYS_UNAVAILABLE', statusCode: 503 }
const INVALID = { code: 'HTTP_ERR_INVALID_TOKEN', statusCode: 401 }

async function serveSet(
  t: Test,
  makers: Record<string, TokenMaker>,
  timing: KeySetSettings,
  algorithm: JwtAlgorithm = 'RS256'
) {
  const served = await serveKeys(t, ...Object.entries(makers).map(([kid, maker]) => toJwk(maker, { kid })))
  const findKey = createRemoteKey(served.url, algorithm, timing)
  const find = async (kid?: unknown) => findKey({ header: { alg: algorithm, kid }, payload: {} })
  return { served, find }
}

const one = createTokenMaker('RS256')
const two = createTokenMaker('RS256')

for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
  t.test(`${algorithm}: keys come from the set, and rotate`, async (t) => {
    const [first, second] = [createTokenMaker(algorithm), createTokenMaker(algorithm)]
    const served = await serveKeys(t, toJwk(first, { kid: 'first', use: 'sig', alg: algorithm }))
    const { ask } = await buildAuthenticate({ jwksUrl: served.url, algorithm })
    t.equal(served.fetches, 0, 'not before they are needed')
    const old = first.sign(claims(), { kid: 'first' })
    t.match(await ask(old), { sub: 'ann' })
    t.match(await ask(first.sign(claims({ sub: 'bob' }), { kid: 'first' })), { sub: 'bob' })
    t.equal(served.fetches, 1)

    const fresh = second.sign(claims(), { kid: 'second' })
    await t.rejects(ask(fresh), INVALID, 'not in the set yet')
    served.keys = [toJwk(second, { kid: 'second' })]
    t.match(await ask(fresh), { sub: 'ann' })
    t.equal(served.fetches, 3)
    await t.rejects(
      ask(first.sign(claims({ sub: 'eve' }), { kid: 'first' })),
      INVALID,
      'no longer in the set'
    )
    await t.rejects(ask(first.sign(claims(), { kid: 'second' })), INVALID, 'of another key')
    await t.rejects(ask(second.sign(claims(), { kid: 2 })), INVALID)
  })
}

t.test('a token without kid matches a single key, but none of two', async (t) => {
  const { served, find } = await serveSet(t, { a: one }, { interval: 1 })
  t.equal(await find(), one.secret)
  served.keys = [toJwk(one, { kid: 'a' }), toJwk(two, { kid: 'b' })]
  t.equal(await find('b'), two.secret)
  await t.rejects(find(), /no such key/)
  await t.rejects(find('__proto__'), /no such key/)
})

t.test('keys for other purposes are ignored', async (t) => {
  const served = await serveKeys(
    t,
    null as never,
    'key' as never,
    {},
    { kty: 'oct', kid: 'a', k: 'c2VjcmV0' },
    { kty: 'RSA', kid: 'a', n: 1 },
    toJwk(two, { kid: 'a', use: 'enc' }),
    toJwk(two, { kid: 'a', alg: 'RS512' }),
    toJwk(createTokenMaker('ES256'), { kid: 'a' }),
    toJwk(one, { kid: 'a' }),
    toJwk(two, { kid: 'a' })
  )
  const findKey = createRemoteKey(served.url, 'RS256', {})
  t.equal(await findKey({ header: { alg: 'RS256', kid: 'a' }, payload: {} }), one.secret)
  await t.rejects(async () => findKey({ header: { alg: 'RS512', kid: 'a' }, payload: {} }), /algorithm/)
})

t.test('an unreachable key server, or one with invalid responses, is 503', async (t) => {
  const served = await serveKeys(t)
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    'breaks off': (response) => response.destroy(),
    500: (response) => response.writeHead(500).end('{"keys":[]}'),
    404: (response) => response.writeHead(404).end(),
    'sends elsewhere': (response) => response.writeHead(302, { location: '/other' }).end(),
    'no JSON': (response) => response.end('<html>'),
    'no set': (response) => response.end('{}'),
    null: (response) => response.end('null')
  }
  for (const [says, answer] of Object.entries(answers)) {
    served.answer = answer
    const { ask } = await buildAuthenticate({ jwksUrl: served.url, algorithm: 'RS256' })
    for (let i = 0; i < 8; i++) await t.rejects(ask(one.sign(claims())), UNAVAILABLE, says)
    await t.rejects(ask(createTokenMaker('HS256').sign(claims())), INVALID, `${says}: bad in any case`)
  }
  const { ask } = await buildAuthenticate({ jwksUrl: 'http://127.0.0.1:1/keys', algorithm: 'RS256' })
  await t.rejects(ask(one.sign(claims())), UNAVAILABLE)
})

t.test('a recovered key server is used at once', async (t) => {
  const served = await serveKeys(t, toJwk(one, { kid: 'a' }))
  const { answer } = served
  served.answer = (response) => response.destroy()
  const { ask } = await buildAuthenticate({ jwksUrl: served.url, algorithm: 'RS256' })
  const token = one.sign(claims(), { kid: 'a' })
  await t.rejects(ask(token), UNAVAILABLE)
  served.answer = answer
  t.match(await ask(token), { sub: 'ann' })
  await t.rejects(ask(one.sign(claims(), { kid: 'b' })), INVALID)
})

t.test('a key server that does not respond times out', async (t) => {
  const { served, find } = await serveSet(t, { a: one }, { timeout: 50 })
  served.answer = () => {}
  await t.rejects(find('a'), UNAVAILABLE)
})

t.test('a flood of unknown kids causes few fetches', async (t) => {
  const { served, find } = await serveSet(t, { a: one }, { burst: 3, interval: 60_000 })
  const kids = Array.from({ length: 200 }, (_, i) => `kid-${i}`)
  await Promise.all(kids.map((kid) => t.rejects(find(kid), /no such key/)))
  t.equal(served.fetches, 1, 'one serves all who wait')
  for (const kid of kids) await t.rejects(find(kid), /no such key/)
  t.equal(served.fetches, 3)
  t.equal(await find('a'), one.secret)
})
