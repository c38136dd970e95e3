import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { createJwtAuthenticate } from '../../src/auth/jwt-authenticate.ts'
import { JWT_ALGORITHMS } from '../../src/auth/jwt-key.ts'
import { resolveJwtOptions, type JwtOptions } from '../../src/auth/jwt-options.ts'
import { buildAuthenticate, createTokenMaker } from './token-maker.ts'

const rsa = createTokenMaker('RS256')
const ec = createTokenMaker('ES256')
const ed = createTokenMaker('EdDSA')
const jwksUrl = 'https://issuer/keys'
const toDer = (type: 'spki' | 'pkcs1') => rsa.publicKey?.export({ type, format: 'der' }) as Buffer

t.test('an unknown or invalid option is named', async (t) => {
  const bad: [options: unknown, says: RegExp][] = [
    [{}, /secret and jwksUrl/],
    [{ secret: 'x', jwksUrl }, /secret and jwksUrl/],
    [true, /object/i],
    [null, /object/i],
    [{ secret: 'x', audiance: 'y' }, /audiance/],
    [{ secret: '' }, /secret: it is empty/],
    [{ secret: Buffer.alloc(0) }, /secret: it is empty/],
    [{ secret: 1 }, /secret/],
    [{ secret: {} }, /secret/],
    [{ secret: null }, /secret/],
    [{ secret: 'x', algorithm: 'none' }, /algorithm/],
    [{ secret: 'x', algorithm: 'hs256' }, /algorithm/],
    [{ secret: 'x', algorithm: ['HS256', 'RS256'] }, /algorithm/],
    [{ secret: 'x', issuer: '' }, /issuer/],
    [{ secret: 'x', issuer: [] }, /issuer/],
    [{ secret: 'x', audience: '' }, /audience/],
    [{ secret: 'x', audience: [] }, /audience/],
    [{ secret: 'x', audience: [''] }, /audience/],
    [{ secret: 'x', extractFrom: 'query' }, /extractFrom/],
    [{ secret: 'x', cookieName: '' }, /cookieName/],
    [{ secret: rsa.secret }, /PEM.*HS256/],
    [{ secret: ` ${rsa.secret.trim()}` }, /PEM.*HS256/],
    [{ secret: Buffer.from(ec.secret), algorithm: 'HS512' }, /PEM.*HS512/],
    [{ secret: toDer('spki') }, /DER.*HS256/],
    [{ secret: toDer('pkcs1') }, /DER.*HS256/],
    [{ secret: toDer('spki').toString('base64') }, /DER.*HS256/],
    [{ secret: JSON.stringify(ed.publicKey?.export({ format: 'jwk' })) }, /JSON key.*HS256/],
    [{ secret: 'x', algorithm: 'RS256' }, /RS256 needs a public key in PEM/],
    [{ secret: toDer('spki'), algorithm: 'RS256' }, /RS256 needs a public key in PEM/],
    [
      { secret: '-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----', algorithm: 'RS256' },
      /no readable public key/
    ],
    [{ secret: ec.secret, algorithm: 'RS256' }, /not for RS256/],
    [{ secret: ec.secret, algorithm: 'ES384' }, /not for ES384/],
    [{ secret: rsa.secret, algorithm: 'ES256' }, /not for ES256/],
    [{ secret: rsa.secret, algorithm: 'EdDSA' }, /not for EdDSA/],
    [{ secret: ed.secret, algorithm: 'PS256' }, /not for PS256/],
    [{ secret: pemOf('secp256k1'), algorithm: 'ES256' }, /not for ES256/],
    [
      {
        secret: generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
        algorithm: 'EdDSA'
      },
      /not the private/
    ],
    [{ jwksUrl }, /jwksUrl.*HS256/],
    [{ jwksUrl: 'keys', algorithm: 'RS256' }, /jwksUrl/],
    [{ jwksUrl: 'file:///keys', algorithm: 'RS256' }, /jwksUrl/],
    [{ jwksUrl: '', algorithm: 'RS256' }, /jwksUrl/],
    [{ secret: 'x', jwksMaxStale: 1 }, /jwksMaxStale: it needs jwksUrl/],
    [{ jwksUrl, algorithm: 'RS256', jwksMaxStale: -1 }, /jwksMaxStale/],
    [{ jwksUrl, algorithm: 'RS256', jwksMaxStale: 1.5 }, /jwksMaxStale/]
  ]
  for (const [options, says] of bad) {
    const made = createJwtAuthenticate(options as JwtOptions)
    await t.rejects(made, { code: 'HTTP_ERR_BAD_OPTION', message: says }, JSON.stringify(options))
  }
})

t.test('each algorithm is accepted with its key', async (t) => {
  const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }
  for (const algorithm of JWT_ALGORITHMS) {
    let { secret } = algorithm === 'EdDSA' ? ed : rsa
    if (algorithm.startsWith('HS')) secret = 'x'
    if (algorithm in curves) secret = pemOf(curves[algorithm as 'ES256'])
    for (const key of [secret, Buffer.from(secret), () => secret]) {
      const { authenticate } = await buildAuthenticate({ secret: key, algorithm })
      t.type(authenticate, 'function', algorithm)
    }
  }
})

t.test('options are not mutated', async (t) => {
  const options: JwtOptions = Object.freeze({ secret: 'x', audience: Object.freeze(['us']) as string[] })
  await buildAuthenticate(options)
  t.strictSame(options, { secret: 'x', audience: ['us'] })
})

t.test('options may be inherited: a getter of a class counts', (t) => {
  class Config {
    secret = 'x'
    get issuer() {
      return 'us'
    }
    get audience() {
      return 'api'
    }
  }
  t.match(resolveJwtOptions(new Config()), { issuer: 'us', audience: 'api', algorithm: 'HS256' })
  t.end()
})

function pemOf(namedCurve: string): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve })
  return publicKey.export({ type: 'spki', format: 'pem' }).toString()
}
