import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { createPublicLookup, isPublicHost } from '@svc/registry/kit'
import { badParams } from '../wire/decode-params.ts'

/** Finds the addresses of a host. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** Which hosts may receive pushes. */
export interface TargetRules {
  /** Default: the system's. */
  lookup?: Lookup | undefined
  /** Allows private, loopback and link-local addresses; default false. */
  allowPrivate?: boolean | undefined
}

/** The host of a push is not public. */
export class UnsafeTargetError extends Error {
  constructor() {
    super('The host is not on the public internet')
  }
}

/** Parses a URL and checks its form. @throws A2A_ERR_BAD_PARAMS */
export function requireUrl(text: string, field: string): URL {
  const url = URL.parse(text)
  if (url === null) throw badParams(field, 'Expected an absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw badParams(field, 'Expected http or https')
  if (url.username !== '' || url.password !== '') throw badParams(field, 'Expected no credentials in it')
  return url
}

/** Rejects hosts that are private by their text; a name's addresses are checked at each connection. @throws UnsafeTargetError */
export function requirePublicHost(url: URL, { allowPrivate = false }: TargetRules): void {
  if (!allowPrivate && !isPublicHost(url)) throw new UnsafeTargetError()
}

/** The look-up of a connection: it checks the very address that is connected to, so a name cannot change in between. */
export function connectLookup({ lookup, allowPrivate = false }: TargetRules): LookupFunction {
  const resolve = lookup === undefined ? (systemLookup as LookupFunction) : toLookupFunction(lookup)
  return allowPrivate ? resolve : createPublicLookup(UnsafeTargetError, resolve)
}

/** Looks a host up, and checks that it is public now. @throws UnsafeTargetError, and what the look-up throws */
export async function requirePublicTarget(url: URL, rules: TargetRules): Promise<void> {
  requirePublicHost(url, rules)
  const { hostname } = url
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return
  await new Promise<void>((resolve, reject) => {
    connectLookup(rules)(hostname, { all: true }, (err) => (err === null ? resolve() : reject(err)))
  })
}

function toLookupFunction(lookup: Lookup): LookupFunction {
  const resolve = callbackify(lookup)
  return (host, { all, family }, done) => {
    resolve(host, (err, found) => {
      if (err) return done(err, '')
      const wanted = found.filter((each) => !family || each.family === family)
      const [first] = wanted
      if (all) done(null, wanted)
      else if (first === undefined) done(notFound(), '')
      else done(null, first.address, first.family)
    })
  }
}

function notFound(): Error {
  return Object.assign(new Error('No such address'), { code: 'ENOTFOUND' })
}
