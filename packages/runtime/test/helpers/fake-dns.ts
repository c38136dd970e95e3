import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

/** Makes the system's resolver of this process answer for some names, until the test ends. */
export function fakeDns(t: Test, addresses: Readonly<Record<string, string>>): void {
  const { lookup } = dns
  const fake = (
    name: string,
    options: dns.LookupAllOptions,
    done: (err: NodeJS.ErrnoException | null, found: dns.LookupAddress[]) => void
  ) => {
    const address = addresses[name]
    if (address === undefined) return lookup(name, options, done)
    setImmediate(() => done(null, [{ address, family: 4 }]))
  }
  dns.lookup = fake as never
  syncBuiltinESMExports()
  t.teardown(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
}
