import { lookup, type LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/**
 * Resolves a name for a connection, which then goes to what was checked here and nowhere else: one address that is not
 * public refuses them all. A host that is an address is never looked up: check that with `isPublicHost`.
 * @param Refused what the connection then fails with
 */
export function createPublicLookup(
  Refused: new () => Error,
  resolve: LookupFunction = lookup
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
