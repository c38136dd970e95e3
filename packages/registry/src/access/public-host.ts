import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

// Names that never are of the public internet (RFC 6761, RFC 8375, RFC 9476, and what clouds use).
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|lan|home\.arpa|test|invalid|onion|alt)\.?$/

/**
 * Whether the host of a URL can be one of the public internet, as far as its text says. What a name resolves to is for
 * the connection to check: see `createPublicLookup`.
 */
export function isPublicHost({ hostname }: URL): boolean {
  // A URL's host is normal already: 0x7f.1 and 2130706433 are 127.0.0.1 by now.
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) === 0 ? host.includes('.') && !PRIVATE_NAME.test(host) : isPublicAddress(host)
}
