import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { createPublicLookup, isPublicHost } from './public-hosts.ts'

/** Finds the addresses of a host. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** Which hosts may receive what clients ask the service to send. */
export interface TargetRules {
  /** Default: the system's. */
  lookup?: Lookup | undefined
  /** Allows private, loopback and link-local addresses; default false. */
  allowPrivate?: boolean | undefined
}

/** The host of a URL from a client is not public. */
export class UnsafeTargetError extends Error {
  constructor() {
    super('The host is not on the public internet')
  }
}

/** The URL of a receiver, or why the text is none: it must be absolute, of http or https, and without credentials. */
export function readTarget(text: string): URL | string {
  const url = URL.parse(text)
  if (url === null) return 'Expected an absolute URL'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'Expected http or https'
  if (url.username !== '' || url.password !== '') return 'Expected no credentials in it'
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
