import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'

// IANA's special-purpose registries (RFC 6890): addresses outside the public internet.
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4'
]
// In IPv6 only global unicast is public, except tunnels to IPv4 and documentation ranges.
const PUBLIC_V6 = '2000::/3'
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const refusedV4 = listOf(NOT_PUBLIC_V4, 'ipv4')
const refusedV6 = listOf(NOT_PUBLIC_V6, 'ipv6')
const allowedV6 = listOf([PUBLIC_V6], 'ipv6')

/** True if an IP address belongs to the public internet; false for anything that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false
  if (!isIPv6(address)) return !refusedV4.check(address, 'ipv4')
  return allowedV6.check(address, 'ipv6') && !refusedV6.check(address, 'ipv6')
}

function listOf(subnets: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [net = '', prefix] = subnet.split('/')
    list.addSubnet(net, Number(prefix), family)
  }
  return list
}

// Names outside the public internet (RFC 6761, RFC 8375, RFC 9476, and those that clouds use).
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa|test|invalid|onion|alt)\.?$/

/**
 * True if the host of a URL may be on the public internet, judged by its text. The connection must check what a name resolves to:
 * see `createPublicLookup`.
 */
export function isPublicHost({ hostname }: Pick<URL, 'hostname'>): boolean {
  // `URL` has normalized the host: 0x7f.1 and 2130706433 are 127.0.0.1.
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? host.includes('.') && !PRIVATE_NAME.test(host) : isPublicAddress(host)
}

/**
 * Creates a DNS look-up that checks the addresses it hands to a connection; one non-public address refuses them all. Hosts that are
 * addresses are never looked up: check those with `isPublicHost`.
 * @param Refused the error that the connection fails with
 */
export function createPublicLookup(
  Refused: new () => Error,
  resolve: LookupFunction = systemLookup
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (err, found) => {
      if (err !== null) return callback(err, [])
      const addresses = found as LookupAddress[]
      if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
        return callback(new Refused(), [])
      if (options.all) return callback(null, addresses)
      const [{ address, family }] = addresses as [LookupAddress]
      callback(null, address, family)
    })
  }
}

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
function requirePublicHost(url: URL, { allowPrivate = false }: TargetRules): void {
  if (!allowPrivate && !isPublicHost(url)) throw new UnsafeTargetError()
}

/** The look-up of a connection: it checks the very address that is connected to, so a name cannot change in between. */
function connectLookup({ lookup, allowPrivate = false }: TargetRules): LookupFunction {
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

export interface SafeRequest {
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/**
 * Posts to a URL from a client and returns the status of the answer. Connects to checked addresses only, follows no redirect,
 * and reads no answer.
 * @throws UnsafeTargetError, and what the network throws
 */
export async function safePost(url: URL, request: SafeRequest, rules: TargetRules): Promise<number> {
  const { headers, body, signal } = request
  requirePublicHost(url, rules)
  signal.throwIfAborted()
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: connectLookup(rules),
        // No pool: a pooled connection would skip the look-up.
        agent: false,
        signal
      },
      (response) => {
        response.on('error', () => {})
        response.destroy()
        resolve(response.statusCode ?? 0)
      }
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
