import { lookup, type LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { RUN_ERR_URL_REFUSED } from '../errors.ts'
import { isPublicAddress } from './public-address.ts'

/**
 * Resolves a name for a connection, which then goes to what was checked here and nowhere else: one address that is not
 * public refuses them all.
 */
export function createPublicLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (err, addresses: LookupAddress[]) => {
      if (err !== null) return callback(err, [])
      if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
        return callback(new RUN_ERR_URL_REFUSED(), [])
      if (options.all) return callback(null, addresses)
      const [{ address, family }] = addresses as [LookupAddress]
      callback(null, address, family)
    })
  }
}
