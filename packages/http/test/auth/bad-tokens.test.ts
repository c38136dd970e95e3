import { createPublicKey, sign, type KeyObject } from 'node:crypto'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { JwtAlgorithm } from '../../src/auth/jwt-key.ts'
import {
  buildAuthenticate,
  claims,
  createTokenMaker,
  encode,
  hmac,
  toToken,
  type TokenMaker
} from './token-maker.ts'

const now = () => Math.floor(Date.now() / 1000)
const aud = 'us'
const iss = 'https://issuer'
const good = (more: object = {}) => claims({ aud, iss, ...more })
const without = (claim: string) => {
  const { [claim]: _, ...rest } = good() as Record<string, unknown>
  return rest
}

/** What is bad, whatever the algorithm. */
function badTokens({ algorithm, sign }: TokenMaker): Record<string, string> {
  const token = sign(good())
  const [head = '', body = '', signature = ''] = token.split('.')
  const other = createTokenMaker(algorithm as 'HS256')
  const bad: Record<string, string> = {
    empty: '',
    'one dot': '.',
    'two dots': '..',
    'one word': 'token',
    'two words': `${token} ${token}`,
    'a space before': ` ${token}`,
    'a new line after': `${token}\n`,
    padded: `${token}=`,
    'four parts': `${token}.${signature}`,
    'the signature is missing': `${head}.${body}`,
    'the signature is empty': `${head}.${body}.`,
    'the signature is cut': token.slice(0, -8),
    'the payload is cut': `${head}.${body.slice(0, -4)}.${signature}`,
    'the payload is another': `${head}.${encode(good({ sub: 'eve' }))}.${signature}`,
    'the header is another': `${encode({ alg: algorithm })}.${body}.${signature}`,
    'the key is another': other.sign(good()),
    'the signature is noise': `${head}.${body}.${encode('noise')}`,
    'the header is no JSON': `${encode('nothing')}.${body}.${signature}`,
    'the header is null': `${encode('null')}.${body}.${signature}`,
    'the header is a list': `${encode([])}.${body}.${signature}`,
    '1 MB': sign(good({ more: 'x'.repeat(1_000_000) })),
    'over 16 KiB': sign(good({ more: 'x'.repeat(12_400) })),
    'another header of the same family': sign(good(), {
      alg: algorithm.replace('256', '512').replace('EdDSA', 'Ed25519')
    }),
    'alg is missing': sign(good(), { alg: undefined }),
    'alg is null': sign(good(), { alg: null }),
    'alg is a list': sign(good(), { alg: [algorithm] }),
    'alg is in small letters': sign(good(), { alg: algorithm.toLowerCase() }),
    'an unknown crit': sign(good(), { crit: ['exp-2'], 'exp-2': 1 }),
    'crit without its member': sign(good(), { crit: ['b64'] }),
    'crit is b64': sign(good(), { crit: ['b64'], b64: false }),
    'crit is empty': sign(good(), { crit: [] }),
    'crit is null': sign(good(), { crit: null }),
    'crit is a word': sign(good(), { crit: 'exp' })
  }
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ' none', '']) {
    bad[`alg is "${alg}", unsigned`] = `${encode({ alg, typ: 'JWT' })}.${encode(good())}.`
    bad[`alg is "${alg}", two parts`] = `${encode({ alg, typ: 'JWT' })}.${encode(good())}`
    bad[`alg is "${alg}", signed`] = `${encode({ alg, typ: 'JWT' })}.${body}.${signature}`
  }
  for (const payload of [[], [good()], 'a string', '"a string"', 'null', '1', 'true', '', '{"sub":', '{}'])
    bad[`the payload is ${JSON.stringify(payload)}`] = sign(payload)
  for (const claim of ['exp', 'sub', 'aud', 'iss']) bad[`${claim} is missing`] = sign(without(claim))
  const wrong: Record<string, unknown[]> = {
    exp: [now() - 1, now(), 0, -1, String(now() + 3600), null, [now() + 3600], {}, true, ''],
    nbf: [now() + 60, String(now() - 60), null, [now() - 60], {}, true],
    iat: [String(now()), null, [now()], {}, false],
    sub: ['', null, 1, ['ann'], {}, true],
    aud: ['them', '', null, [], ['them'], 'US', 'us ', 1, {}, [['us']], ['us', 1]],
    iss: ['https://other', `${iss}/`, iss.toUpperCase(), '', null, [iss], 1, {}],
    scopes: [{}, { 0: '*' }, null, 1, true, [1], ['agents:run', null], [['*']]]
  }
  for (const [claim, values] of Object.entries(wrong))
    for (const value of values) bad[`${claim} is ${JSON.stringify(value)}`] = sign(good({ [claim]: value }))
  bad['exp is beyond numbers'] = sign(JSON.stringify(good()).replace(/"exp":\d+/, '"exp":1e999'))
  bad['exp comes from __proto__'] = sign(
    `{"__proto__":{"exp":${now() + 60}},"sub":"ann","aud":"us","iss":"${iss}"}`
  )
  return bad
}

async function refuseAll(t: Test, ask: (token: string) => Promise<unknown>, bad: Record<string, string>) {
  for (const [says, token] of Object.entries(bad))
    await t.rejects(ask(token), { code: 'HTTP_ERR_INVALID_TOKEN', statusCode: 401 }, says)
}

for (const algorithm of ['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
  t.test(`${algorithm}: a bad token is refused, whatever the reason`, async (t) => {
    const maker = createTokenMaker(algorithm)
    const { secret } = maker
    for (const key of [secret, async () => secret]) {
      const { ask } = await buildAuthenticate({ secret: key, algorithm, audience: aud, issuer: iss })
      t.match(await ask(maker.sign(good())), { sub: 'ann' })
      t.match(await ask(maker.sign(good({ more: 'x'.repeat(11_000) }))), { sub: 'ann' }, 'under 16 KiB')
      await refuseAll(t, ask, badTokens(maker))
      t.match(await ask(maker.sign(good())), { sub: 'ann' }, 'and a good one is still taken')
    }
  })
}

for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
  t.test(`${algorithm}: the public key is no secret`, async (t) => {
    const { secret } = createTokenMaker(algorithm)
    const der = createPublicKey(secret).export({ type: 'spki', format: 'der' })
    const spellings: Record<string, string | Buffer> = {
      pem: secret,
      'without the last line end': secret.trimEnd(),
      'two line ends': `${secret}\n`,
      'a space before': ` ${secret}`,
      'lines of Windows': secret.replaceAll('\n', '\r\n'),
      'on one line': secret.replaceAll('\n', ''),
      'lines escaped': secret.replaceAll('\n', String.raw`\n`),
      der,
      'der in base64': der.toString('base64'),
      jwk: JSON.stringify(createPublicKey(secret).export({ format: 'jwk' })),
      empty: ''
    }
    const bad: Record<string, string> = {}
    for (const [says, key] of Object.entries(spellings)) {
      bad[says] = toToken({ alg: 'HS256' }, good(), hmac(key))
      bad[`${says}, HS512`] = toToken({ alg: 'HS512' }, good(), hmac(key, 'sha512'))
      bad[`${says}, under its own name`] = toToken({ alg: algorithm }, good(), hmac(key))
    }
    for (const key of [secret, async () => secret]) {
      const { ask } = await buildAuthenticate({ secret: key, algorithm })
      await refuseAll(t, ask, bad)
    }
    const { ask } = await buildAuthenticate({ secret: () => secret, algorithm: 'HS256' })
    await refuseAll(t, ask, { 'a key function that gives a public key for HS256': bad['pem'] as string })
  })
}

t.test('another algorithm of the same key is refused', async (t) => {
  const [hs, rs] = [createTokenMaker('HS256'), createTokenMaker('RS256')]
  const key = rs.privateKey as KeyObject
  const pss = { key, padding: 6, saltLength: 32 }
  const tokens: Record<string, [secret: string, token: string]> = {
    HS384: [hs.secret, toToken({ alg: 'HS384' }, good(), hmac(hs.secret, 'sha384'))],
    HS512: [hs.secret, toToken({ alg: 'HS512' }, good(), hmac(hs.secret, 'sha512'))],
    RS512: [rs.secret, toToken({ alg: 'RS512' }, good(), (input) => sign('sha512', Buffer.from(input), key))],
    PS256: [rs.secret, toToken({ alg: 'PS256' }, good(), (input) => sign('sha256', Buffer.from(input), pss))]
  }
  for (const [name, [secret, token]] of Object.entries(tokens)) {
    const algorithm = secret === hs.secret ? 'HS256' : 'RS256'
    for (const key of [secret, () => secret]) {
      const its = await buildAuthenticate({ secret: key, algorithm: name as JwtAlgorithm })
      t.match(await its.ask(token), { sub: 'ann' }, `${name} is good for itself`)
      const { ask } = await buildAuthenticate({ secret: key, algorithm })
      await refuseAll(t, ask, { [`${name} for ${algorithm}`]: token })
    }
  }
})

t.test('the logged reason is a code without contents of the token', async (t) => {
  const maker = createTokenMaker('HS256')
  const { ask } = await buildAuthenticate({ secret: maker.secret })
  for (const token of [maker.sign('["private"]'), maker.sign('private'), maker.sign(claims({ sub: '' }))]) {
    const err: unknown = await ask(token).catch((err: unknown) => err)
    t.match(err, { message: 'The token is not valid', cause: /./ })
    t.notMatch(inspect(err, { depth: 9 }), /private/)
  }
})
