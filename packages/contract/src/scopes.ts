import type { Principal } from './principal.ts'

/**
 * True if the held scopes grant the wanted one. `*` and `admin:*` grant everything, `agents:*` grants every scope that begins
 * with `agents:`, and any other scope grants only itself.
 */
export function grantsScope(held: readonly string[], wanted: string): boolean {
  if (held.includes(wanted) || isAdmin(held)) return true
  const colon = wanted.indexOf(':')
  return colon > 0 && held.includes(`${wanted.slice(0, colon)}:*`)
}

/** True if a principal may see and control what belongs to `owner`: its own, or everyone's with `*` or `admin:*`. */
export function reachesOwner({ sub, scopes }: Principal, owner: string): boolean {
  return sub === owner || isAdmin(scopes)
}

/** True if the held scopes grant everything. */
export function isAdmin(held: readonly string[]): boolean {
  return held.includes('*') || held.includes('admin:*')
}

/** Returns the first wanted scope that is not granted; all of them are required. */
export function findMissingScope(held: readonly string[], wanted: readonly string[]): string | undefined {
  return wanted.find((scope) => !grantsScope(held, scope))
}
