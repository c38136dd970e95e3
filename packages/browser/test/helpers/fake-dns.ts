import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

/** Makes the system's resolver of this process answer for some names, until the test ends; `*.` stands for subdomains. */
export function fakeDns(t: Test, addresses: Readonly<Record<string, string>>): void {
  const { lookup } = dns
  const entries = Object.entries(addresses)
  const find = (name: string) =>
    entries.find(([key]) => (key.startsWith('*.') ? name.endsWith(key.slice(1)) : name === key))?.[1]
  const fake = (
    name: string,
    options: dns.LookupAllOptions,
    done: (err: NodeJS.ErrnoException | null, found: dns.LookupAddress[]) => void
  ) => {
    const address = find(name)
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
