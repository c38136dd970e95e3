import type { KeyObject } from 'node:crypto'

/** The accepted algorithms of RFC 7518, section 3.1, and RFC 8037. */
export const JWT_ALGORITHMS = [
  ...(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512'] as const),
  ...(['PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const)
] as const
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number]

const CURVES: Readonly<Record<string, string>> = {
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1'
}

/** Whether a public key can verify signatures of the algorithm. */
export function fits(key: KeyObject, algorithm: JwtAlgorithm): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (algorithm === 'EdDSA') return type === 'ed25519' || type === 'ed448'
  if (algorithm.startsWith('ES')) return type === 'ec' && details?.namedCurve === CURVES[algorithm]
  return type === 'rsa'
}
