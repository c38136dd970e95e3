import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { badParams } from '../wire/decode-params.ts'
import { isPublicAddress } from './public-address.ts'

/** Finds the addresses of a host. */
export type Lookup = (host: string) => Promise<readonly LookupAddress[]>

/** Where something may be sent to. */
export interface TargetRules {
  /** Default: the system's. */
  lookup?: Lookup | undefined
  /** Whether private, loopback and link-local addresses are good too; default false. */
  allowPrivate?: boolean | undefined
}

/** Says why nothing is sent to an address; its text is for the caller of `requireTarget`. */
export class UnsafeTargetError extends Error {}

/** The URL, parsed, when something may be sent there as far as its text says. @throws A2A_ERR_BAD_PARAMS */
export function requireUrl(text: string, field: string): URL {
  const url = URL.parse(text)
  if (url === null) throw badParams(field, 'Expected an absolute URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw badParams(field, 'Expected http or https')
  if (url.username !== '' || url.password !== '') throw badParams(field, 'Expected no credentials in it')
  return url
}

/**
 * The addresses of a URL's host when each of them is public: what is connected to must be one of these, so that the name
 * cannot be made to mean another one in between.
 * @throws UnsafeTargetError, and what the look-up throws
 */
export async function resolveTarget(
  url: URL,
  { lookup = lookupAll, allowPrivate = false }: TargetRules
): Promise<readonly LookupAddress[]> {
  // `URL` writes every spelling of an IPv4 address in one way.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const family = isIP(host)
  const addresses = family === 0 ? await lookup(host) : [{ address: host, family }]
  if (addresses.length === 0) throw new UnsafeTargetError('The host has no address')
  if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address)))
    throw new UnsafeTargetError('The host has an address that is not public')
  return addresses
}

function lookupAll(host: string): Promise<LookupAddress[]> {
  return systemLookup(host, { all: true, verbatim: true })
}
