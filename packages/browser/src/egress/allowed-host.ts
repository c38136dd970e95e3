import { isIP } from 'node:net'
import { isPublicHost } from '@svc/registry/engine'
import { RUN_ERR_BAD_BROWSER } from '../errors.ts'
import type { HostPolicy } from '../browser.ts'

/**
 * Hosts by name: `shop.example`, `*.shop.example` (its subdomains at any depth, not itself), each with a port if not 80 or 443;
 * `'public'` means the public internet on ports 80 and 443. Addresses are entries too, those of IPv6 in brackets.
 */
export type AllowedHosts = 'public' | readonly string[]

/**
 * Creates the policy of a desk. A name in `allow` must have public addresses only, which is checked on connect.
 * @param allow may be empty if there are private hosts
 * @param privateHosts allowed too, and may have private addresses: exact names or addresses, each with a port if not 80 or 443
 * @throws RUN_ERR_BAD_BROWSER
 */
export function createHostPolicy(allow: AllowedHosts, privateHosts: readonly string[] = []): HostPolicy {
  const exempt = requireList(privateHosts, 'privateHosts').map(parseExempt)
  const listed = allow === 'public' ? undefined : requireList(allow, 'allow').map(parseListed)
  if (listed?.length === 0 && exempt.length === 0)
    throw new RUN_ERR_BAD_BROWSER("allow: expected a host, or 'public' for the public internet")

  function isListed(hostname: string, port: number): boolean {
    if (listed !== undefined) return listed.some((entry) => matches(entry, hostname, port))
    return DEFAULT_PORTS.includes(port) && isPublicHost({ hostname })
  }
  function mayBePrivate(host: string, port: number): boolean {
    const hostname = normalizeHost(host)
    return hostname !== undefined && exempt.some((entry) => matches(entry, hostname, port))
  }
  return {
    mayBePrivate,
    allows(host, port) {
      const hostname = normalizeHost(host)
      return hostname !== undefined && (isListed(hostname, port) || mayBePrivate(hostname, port))
    }
  }
}

/**
 * A host as `URL` has it, in lower case and punycode and without a final dot: `0x7f.1` becomes `127.0.0.1`. Undefined for anything
 * that is not a host alone.
 */
export function normalizeHost(text: string): string | undefined {
  if (!HOST.test(text)) return undefined
  const hostname = URL.parse(`http://${text}`)?.hostname.replace(/\.$/, '')
  // An empty label would let `.example` pass for a subdomain.
  return hostname === undefined || hostname.split('.').includes('') ? undefined : hostname
}

interface Entry {
  /** With `isWildcard`, the part after `*`, with its dot. */
  readonly host: string
  readonly isWildcard: boolean
  readonly ports: readonly number[]
}

const DEFAULT_PORTS: readonly number[] = [80, 443]
const HOST = /^(?:\[[\da-f:.]+\]|[^\s:/?#@\\[\]%*]+)$/i
const ENTRY = /^(\*\.)?(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/

function matches({ host, isWildcard, ports }: Entry, hostname: string, port: number): boolean {
  return ports.includes(port) && (isWildcard ? hostname.endsWith(host) : hostname === host)
}

function parseListed(text: string, index: number): Entry {
  const path = `allow/${index}`
  const { host, isWildcard, ...rest } = parseEntry(text, path)
  const hostname = isWildcard ? host.slice(1) : host
  // `*.com` would be most of the internet, and no address has subdomains.
  const isFit = isPublicHost({ hostname }) && !(isWildcard && isAddress(hostname))
  if (isFit) return { host, isWildcard, ...rest }
  const fault = isWildcard
    ? 'expected a public domain of two labels or more after "*."'
    : 'not a public host; list it in privateHosts'
  throw new RUN_ERR_BAD_BROWSER(`${path}: ${describe(text)}: ${fault}`)
}

function parseExempt(text: string, index: number): Entry {
  const path = `privateHosts/${index}`
  const entry = parseEntry(text, path)
  if (entry.isWildcard)
    throw new RUN_ERR_BAD_BROWSER(`${path}: ${describe(text)}: expected an exact host, not a wildcard`)
  return entry
}

/** @throws RUN_ERR_BAD_BROWSER */
function parseEntry(text: unknown, path: string): Entry {
  const [, star, name = '', port] = (typeof text === 'string' && ENTRY.exec(text)) || []
  const host = normalizeHost(name)
  const number = port === undefined ? undefined : Number(port)
  if (host === undefined || number === 0 || (number ?? 0) > 65_535)
    throw new RUN_ERR_BAD_BROWSER(
      `${path}: ${describe(text)}: expected "shop.example", "*.shop.example" or "shop.example:8443", without scheme and path`
    )
  return {
    host: star === undefined ? host : `.${host}`,
    isWildcard: star !== undefined,
    ports: number === undefined ? DEFAULT_PORTS : [number]
  }
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || isIP(hostname) !== 0
}

function requireList(value: unknown, path: string): readonly string[] {
  if (!Array.isArray(value)) throw new RUN_ERR_BAD_BROWSER(`${path}: expected a list of hosts`)
  return value as readonly string[]
}

function describe(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 253)) : `a ${typeof value}`
}
