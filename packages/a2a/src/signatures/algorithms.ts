import type { KeyObject } from 'node:crypto'

/** The algorithms of card signatures: RFC 7518, section 3.1, and RFC 8037. None has a shared secret. */
export const SIGNATURE_ALGORITHMS = [
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const)
] as const
export type SignatureAlgorithm = (typeof SIGNATURE_ALGORITHMS)[number]

const CURVES: Readonly<Record<string, SignatureAlgorithm>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512'
}
/** Bits of an RSA key: RFC 7518, section 3.3. */
const MIN_RSA = 2048

/** The algorithms that a key can be used with, the default first. */
export function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): SignatureAlgorithm[] {
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  const curve = CURVES[asymmetricKeyDetails?.namedCurve ?? '']
  if (asymmetricKeyType === 'ec') return curve === undefined ? [] : [curve]
  if (asymmetricKeyType !== 'rsa' || (asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA) return []
  return SIGNATURE_ALGORITHMS.filter((each) => /^[RP]S/.test(each))
}
