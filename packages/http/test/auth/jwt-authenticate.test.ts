import jwtPlugin from '@fastify/jwt'
import Fastify from 'fastify'
import { SignJWT } from 'jose'
import { registerHooks } from 'node:module'
import t from 'tap'
import { createJwtAuthenticate } from '../../src/auth/jwt-authenticate.ts'
import { HTTP_ERR_JWT_NOT_INSTALLED } from '../../src/errors.ts'
import { buildAuthenticate, claims, createTokenMaker, inOneHour, toCredentials } from './token-maker.ts'

const maker = createTokenMaker('HS256')

t.test('a valid token gives a principal', async (t) => {
  const { ask } = await buildAuthenticate({ secret: maker.secret })
  const payload = claims({ team: { name: 'x', of: [{ y: 1 }] }, iat: 1, nbf: 1 })
  const principal = await ask(maker.sign(payload))
  t.strictSame(principal, { sub: 'ann', scopes: ['agents:run'], exp: payload.exp, claims: payload })
  t.ok(Object.isFrozen(principal) && Object.isFrozen(principal?.scopes))
  const team = principal?.claims?.['team'] as { of: object[] }
  t.ok([principal?.claims, team, team.of, team.of[0]].every(Object.isFrozen), 'frozen to the ground')
})

t.test('no token gives null', async (t) => {
  const { ask } = await buildAuthenticate({ secret: maker.secret })
  t.equal(await ask(), null)
})

t.test('tokens signed by another library are accepted', async (t) => {
  const { ask } = await buildAuthenticate({
    secret: maker.secret,
    issuer: 'https://issuer',
    audience: ['us', 'them']
  })
  const token = await new SignJWT({ scopes: 'agents:run  teams:read' })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject('ann')
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime('1h')
    .setIssuer('https://issuer')
    .setAudience(['others', 'us'])
    .sign(Buffer.from(maker.secret))
  t.match(await ask(token), { sub: 'ann', scopes: ['agents:run', 'teams:read'] })
})

t.test('scopes are read from the configured claim', async (t) => {
  const { ask } = await buildAuthenticate({ secret: maker.secret }, { scopeField: 'scope' })
  t.strictSame((await ask(maker.sign(claims({ scope: 'a b' }))))?.scopes, ['a', 'b'])
  t.strictSame((await ask(maker.sign(claims())))?.scopes, [])
  const odd = await buildAuthenticate({ secret: maker.secret }, { scopeField: 'constructor' })
  t.strictSame((await odd.ask(maker.sign(claims())))?.scopes, [])
})

t.test('a key function gets the header and may be async', async (t) => {
  const seen: unknown[] = []
  const { ask } = await buildAuthenticate({
    secret: async ({ header, payload }) => {
      seen.push([header['kid'], payload['sub']])
      if (header['kid'] !== 'a') throw new Error('no such key')
      return maker.secret
    }
  })
  t.match(await ask(maker.sign(claims(), { kid: 'a' })), { sub: 'ann' })
  t.strictSame(seen, [['a', 'ann']])
  await t.rejects(ask(maker.sign(claims(), { kid: 'b' })), { code: 'HTTP_ERR_INVALID_TOKEN' })
})

t.test('a key function may find no key, or report an outage', async (t) => {
  for (const key of ['', undefined, null, Buffer.alloc(0), {}]) {
    const { ask } = await buildAuthenticate({ secret: () => key as string })
    await t.rejects(ask(maker.sign(claims())), { code: 'HTTP_ERR_INVALID_TOKEN' }, JSON.stringify(key))
    const unsigned = `${maker.sign(claims()).split('.', 2).join('.')}.`
    await t.rejects(ask(unsigned), { code: 'HTTP_ERR_INVALID_TOKEN' }, 'unsigned')
  }
  const { ask } = await buildAuthenticate({
    secret: () => {
      throw Object.assign(new Error('connection refused'), { statusCode: 502 })
    }
  })
  await t.rejects(ask(maker.sign(claims())), { code: 'HTTP_ERR_KEYS_UNAVAILABLE', statusCode: 503 })
})

t.test('a cached token is refused once it has expired', async (t) => {
  for (const secret of [maker.secret, () => maker.secret]) {
    const { ask } = await buildAuthenticate({ secret })
    const exp = Math.ceil(Date.now() / 1000) + 1
    const token = maker.sign(claims({ exp }))
    const first = await ask(token)
    t.equal(await ask(token), first, 'it is remembered')
    await new Promise((resolve) => setTimeout(resolve, exp * 1000 - Date.now() + 5))
    await t.rejects(ask(token), { code: 'HTTP_ERR_INVALID_TOKEN' })
  }
})

t.test('concurrent tokens do not mix', async (t) => {
  const { ask } = await buildAuthenticate({ secret: () => Promise.resolve(maker.secret) })
  const subs = Array.from({ length: 1500 }, (_, i) => `user-${i}`)
  const tokens = subs.map((sub) => maker.sign(claims({ sub })))
  for (let round = 0; round < 2; round++) {
    const principals = await Promise.all(tokens.map((token) => ask(token)))
    t.strictSame(
      principals.map((principal) => principal?.sub),
      subs
    )
  }
})

t.test('two instances in one app are independent, also of the app’s own', async (t) => {
  const other = createTokenMaker('ES256')
  for (const isFirst of [true, false]) {
    const app = Fastify()
    t.teardown(() => app.close())
    const host = () => app.register(jwtPlugin, { secret: 'of the host' })
    if (isFirst) await host()
    const one = await createJwtAuthenticate({ secret: maker.secret })
    const two = await createJwtAuthenticate({ secret: other.secret, algorithm: 'ES256' })
    if (!isFirst) await host()
    app.get('/', (request) => request.jwtVerify())
    await app.ready()

    t.match(await one(toCredentials(maker.sign(claims()))), { sub: 'ann' })
    t.match(await two(toCredentials(other.sign(claims()))), { sub: 'ann' })
    await t.rejects(async () => one(toCredentials(other.sign(claims()))))
    await t.rejects(async () => two(toCredentials(maker.sign(claims()))))

    t.strictSame(Object.keys(app.jwt).sort(), [
      'cookie',
      'decode',
      'lookupToken',
      'options',
      'sign',
      'verify'
    ])
    const authorization = `Bearer ${app.jwt.sign({ sub: 'host', exp: inOneHour() })}`
    const response = await app.inject({ url: '/', headers: { authorization } })
    t.match(response.json(), { sub: 'host' })
  }
})

t.test('the security schemes name the place of the token', async (t) => {
  const { secret } = maker
  const header = await buildAuthenticate({ secret })
  t.strictSame(header.authenticate.schemes, {
    bearerAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }
  })
  const cookie = await buildAuthenticate({ secret, extractFrom: 'cookie', cookieName: 'session' })
  t.strictSame(cookie.authenticate.schemes, { cookieAuth: { type: 'apiKey', in: 'cookie', name: 'session' } })
})

t.test('without @fastify/jwt the error names the package', async (t) => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== '@fastify/jwt') return next(specifier, context)
      throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    }
  })
  t.teardown(() => hooks.deregister())
  await t.rejects(createJwtAuthenticate({ secret: 'x' }), HTTP_ERR_JWT_NOT_INSTALLED)
})
