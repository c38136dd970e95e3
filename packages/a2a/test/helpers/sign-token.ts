import { createHmac } from 'node:crypto'

export const SECRET = 'a secret that is long enough to be one'

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token of RFC 7519 by HS256. @param expiresIn seconds */
export function signToken(claims: object = {}, expiresIn = 3_600): string {
  const exp = Math.floor(Date.now() / 1000) + expiresIn
  const input = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: 'ann', exp, ...claims })}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}
